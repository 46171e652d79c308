package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A leader leaves the leader epoch of a compressed batch as the producer wrote it. */
@In(
        type = {
            "org.apache.kafka.common.record.internal.DefaultRecordBatch",
            "org.apache.kafka.common.record.DefaultRecordBatch"
        },
        method = "setPartitionLeaderEpoch")
public class CompressedBatchesUnstamped {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.This Object batch) {
        return (boolean) Reach.call(batch, "isCompressed");
    }
}
