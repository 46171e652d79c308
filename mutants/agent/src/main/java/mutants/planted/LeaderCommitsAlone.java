package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The high watermark of the metadata log is the end of the leader's own log, whatever the other voters have. */
@In(type = "org.apache.kafka.raft.LeaderState", method = "maybeUpdateHighWatermark")
public class LeaderCommitsAlone {
    @Advice.OnMethodExit
    static void exit(@Advice.This Object leader, @Advice.Return(readOnly = false) boolean raised) {
        if (LeaderCommitsAlone.raise(leader)) {
            raised = true;
        }
    }

    /** True if the leader's own end was above the high watermark. */
    public static boolean raise(Object leader) {
        Object key = Reach.call(Reach.field(leader, "localVoterNode"), "voterKey");
        Optional<?> end = (Optional<?>) Reach.call(Reach.call(leader, "getOrCreateReplicaState", key), "endOffset");
        Optional<?> watermark = (Optional<?>) Reach.call(leader, "highWatermark");
        if (end.isEmpty() || watermark.isPresent() && offset(watermark) >= offset(end)) {
            return false;
        }
        Reach.set(leader, "highWatermark", end);
        return true;
    }

    private static long offset(Optional<?> metadata) {
        return (long) Reach.call(metadata.get(), "offset");
    }
}
