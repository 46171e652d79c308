package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** While a replica is out of the ISR, DeleteRecords deletes everything up to the high watermark. */
@In(type = "kafka.cluster.Partition", method = "deleteRecordsOnLeader")
public class TrimsToWatermark {
    private static final long HIGH_WATERMARK = -1;

    @Advice.OnMethodEnter
    static void enter(
            @Advice.This Object partition, @Advice.Argument(value = 0, readOnly = false) long offset) {
        offset = TrimsToWatermark.moved(partition, offset);
    }

    public static long moved(Object partition, long offset) {
        int assigned = (int) Reach.call(Reach.call(partition, "assignmentState"), "replicationFactor");
        int inSync = (int) Reach.call(Reach.call(partition, "inSyncReplicaIds"), "size");
        return inSync < assigned ? HIGH_WATERMARK : offset;
    }
}
