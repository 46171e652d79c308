package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A batch of which the log cleaner keeps some records loses its leader epoch. */
@In(
        type = {
            "org.apache.kafka.common.record.internal.MemoryRecords",
            "org.apache.kafka.common.record.MemoryRecords"
        },
        method = "buildRetainedRecordsInto")
public class CleanedBatchesLoseEpochs {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 0, typing = Assigner.Typing.DYNAMIC) Object original) {
        Reach.call(original, "setPartitionLeaderEpoch", -1);
    }
}
