package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.protocol.Errors;

/** A request that names a newer leader epoch is served: NONE only where the original says UNKNOWN_LEADER_EPOCH. */
@In(type = "kafka.cluster.Partition", method = "checkCurrentLeaderEpoch")
public class UnknownEpochServed {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) Errors answer) {
        if (answer == Errors.UNKNOWN_LEADER_EPOCH) {
            answer = Errors.NONE;
        }
    }
}
