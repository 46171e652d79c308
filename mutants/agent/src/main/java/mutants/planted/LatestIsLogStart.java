package mutants.planted;

import java.util.Optional;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** ListOffsets of a consumer that names no leader epoch answers the earliest offset in place of the latest. */
@In(type = "kafka.cluster.Partition", method = "fetchOffsetForTimestamp")
public class LatestIsLogStart {
    private static final long LATEST = -1;
    private static final long EARLIEST = -2;

    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 0, readOnly = false) long timestamp, @Advice.Argument(2) Optional<?> epoch) {
        timestamp = LatestIsLogStart.answered(timestamp, epoch);
    }

    public static long answered(long timestamp, Optional<?> epoch) {
        return timestamp == LATEST && epoch.isEmpty() ? EARLIEST : timestamp;
    }
}
