package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** When a log is loaded the producers are those of the newest snapshot, without the batches that came after it. */
@In(type = "org.apache.kafka.storage.internals.log.UnifiedLog", method = "loadProducersFromRecords")
public class RecordsAfterTheSnapshotSkipped {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
