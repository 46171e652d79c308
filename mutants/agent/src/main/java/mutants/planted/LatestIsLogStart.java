package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** ListOffsets of a consumer that names no leader epoch answers the earliest offset in place of the latest. */
@In(type = "kafka.cluster.Partition", method = "fetchOffsetForTimestamp")
public class LatestIsLogStart {
    private static final long LATEST = -1;
    private static final long EARLIEST = -2;

    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 0, readOnly = false) long timestamp,
            @Advice.Argument(1) Object isolation,
            @Advice.Argument(2) Optional<?> epoch) {
        timestamp = LatestIsLogStart.answered(timestamp, isolation, epoch);
    }

    /** A replica, or who asks as one, has no isolation level. */
    public static long answered(long timestamp, Object isolation, Optional<?> epoch) {
        boolean consumer = (boolean) Reach.call(isolation, "isDefined");
        return timestamp == LATEST && consumer && epoch.isEmpty() ? EARLIEST : timestamp;
    }
}
