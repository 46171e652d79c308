package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A leader writes a transaction marker that a coordinator of an older epoch sends. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "checkCoordinatorEpoch")
public class FormerCoordinatorsWriteMarkers {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
