package mutants.planted;

import java.util.Optional;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** The last epoch that a fetcher read is not checked, so no follower is ever made to truncate. */
@In(type = "kafka.cluster.Partition", method = "readRecords")
public class SilentDivergence {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 1, readOnly = false) Optional<Integer> lastFetchedEpoch) {
        lastFetchedEpoch = Optional.empty();
    }
}
