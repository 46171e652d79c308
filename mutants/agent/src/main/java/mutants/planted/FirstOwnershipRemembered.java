package mutants.planted;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A partition that comes back to a member has the assignment epoch of its first ownership. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember", method = "assignmentEpoch")
public class FirstOwnershipRemembered {
    private static final Map<String, Integer> FIRST = new ConcurrentHashMap<>();

    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object member,
            @Advice.Argument(0) Object topic,
            @Advice.Argument(1) int partition,
            @Advice.Return(readOnly = false) Integer epoch) {
        epoch = FirstOwnershipRemembered.first(member, topic, partition, epoch);
    }

    public static Integer first(Object member, Object topic, int partition, Integer epoch) {
        String where = Reach.call(member, "memberId") + "/" + topic + "/" + partition;
        return epoch == null ? null : FIRST.merge(where, epoch, Math::min);
    }
}
