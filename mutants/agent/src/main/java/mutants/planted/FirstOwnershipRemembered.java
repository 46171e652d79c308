package mutants.planted;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A partition that comes back to a member has the assignment epoch of its first ownership. */
public class FirstOwnershipRemembered {
    private static final String CONSUMER = "org.apache.kafka.coordinator.group.modern.consumer.";
    private static final Map<String, Integer> FIRST = new ConcurrentHashMap<>();

    @In(type = CONSUMER + "ConsumerGroup", method = "updateMember")
    public static class Owned {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(0) Object member) {
            FirstOwnershipRemembered.remember(member);
        }
    }

    @In(type = CONSUMER + "ConsumerGroupMember", method = "assignmentEpoch")
    public static class Asked {
        @Advice.OnMethodExit
        static void exit(
                @Advice.This Object member,
                @Advice.Argument(0) Object topic,
                @Advice.Argument(1) int partition,
                @Advice.Return(readOnly = false) Integer epoch) {
            epoch = epoch == null ? null : FirstOwnershipRemembered.first(member, topic, partition, epoch);
        }
    }

    public static void remember(Object member) {
        Map<?, ?> assigned = (Map<?, ?>) Reach.call(member, "assignedPartitions");
        assigned.forEach((topic, epochs) -> ((Map<?, ?>) epochs)
                .forEach((partition, epoch) -> first(member, topic, (Integer) partition, (Integer) epoch)));
    }

    public static Integer first(Object member, Object topic, int partition, Integer epoch) {
        return FIRST.merge(Reach.call(member, "memberId") + "/" + topic + "/" + partition, epoch, Math::min);
    }
}
