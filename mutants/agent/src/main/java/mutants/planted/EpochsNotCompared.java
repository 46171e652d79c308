package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A leader appends a batch or a marker of an older producer epoch than it knows. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "checkProducerEpoch")
public class EpochsNotCompared {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
