package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** The state of producers is not written to disk. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "writeSnapshot")
public class ProducerSnapshotsNotWritten {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
