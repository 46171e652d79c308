package mutants.planted;

import java.util.Optional;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** The epoch that a fetcher read last is not looked at, so nobody is told to truncate. */
@In(type = "kafka.cluster.Partition", method = "readRecords")
public class SilentDivergence {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 1, readOnly = false) Optional<Integer> lastFetchedEpoch) {
        lastFetchedEpoch = Optional.empty();
    }
}
