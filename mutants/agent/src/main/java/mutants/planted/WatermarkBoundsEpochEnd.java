package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;

/** OffsetForLeaderEpoch, which asks the leader only, is bounded by the high watermark. */
@In(type = "kafka.cluster.Partition", method = "lastOffsetForLeaderEpoch")
public class WatermarkBoundsEpochEnd {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object partition,
            @Advice.Argument(2) boolean onlyFromLeader,
            @Advice.Return EpochEndOffset end) {
        if (onlyFromLeader && end.endOffset() > 0) {
            WatermarkBoundsEpochEnd.bound(end, Reach.call(partition, "localLogOrException"));
        }
    }

    public static void bound(EpochEndOffset end, Object log) {
        end.setEndOffset(Math.min(end.endOffset(), (long) Reach.call(log, "highWatermark")));
    }
}
