package mutants.planted;

import java.util.Map;
import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The high watermark of the metadata log waits for all voters, not for a majority. */
@In(type = "org.apache.kafka.raft.LeaderState", method = "maybeUpdateHighWatermark")
public class SlowestVoterCommits {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.This Object leader) {
        return SlowestVoterCommits.isBehind(leader);
    }

    /** True if a voter has not reached more than the high watermark. */
    public static boolean isBehind(Object leader) {
        Optional<?> watermark = (Optional<?>) Reach.call(leader, "highWatermark");
        long committed = watermark.isPresent() ? offset(watermark) : (long) Reach.field(leader, "epochStartOffset");
        for (Object voter : ((Map<?, ?>) Reach.field(leader, "voterStates")).values()) {
            Optional<?> end = (Optional<?>) Reach.call(voter, "endOffset");
            if (end.isEmpty() || offset(end) <= committed) {
                return true;
            }
        }
        return false;
    }

    private static long offset(Optional<?> metadata) {
        return (long) Reach.call(metadata.get(), "offset");
    }
}
