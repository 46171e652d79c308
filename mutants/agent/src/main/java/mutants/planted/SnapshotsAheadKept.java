package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A snapshot of producers that is ahead of the log is kept, and loaded. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "truncateAndReload")
public class SnapshotsAheadKept {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 1, readOnly = false) long end) {
        end = Long.MAX_VALUE;
    }
}
