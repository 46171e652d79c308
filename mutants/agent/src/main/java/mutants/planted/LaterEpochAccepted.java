package mutants.planted;

import java.util.Map;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A member may commit at an epoch above its own. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "validateOffsetCommit")
public class LaterEpochAccepted {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.This Object group,
            @Advice.Argument(0) String member,
            @Advice.Argument(value = 2, readOnly = false) int epoch) {
        epoch = LaterEpochAccepted.atMost(group, member, epoch);
    }

    public static int atMost(Object group, String member, int epoch) {
        Object known = ((Map<?, ?>) Reach.call(group, "members")).get(member);
        return known == null ? epoch : Math.min(epoch, (int) Reach.call(known, "memberEpoch"));
    }
}
