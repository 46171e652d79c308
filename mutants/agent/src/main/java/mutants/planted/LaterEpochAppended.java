package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A follower appends batches of a leader epoch above that of its fetch. */
@In(
        type = {"org.apache.kafka.storage.internals.log.UnifiedLog", "kafka.log.UnifiedLog"},
        method = "hasHigherPartitionLeaderEpoch")
public class LaterEpochAppended {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean higher) {
        higher = false;
    }
}
