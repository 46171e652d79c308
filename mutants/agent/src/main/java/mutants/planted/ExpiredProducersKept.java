package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A producer that was idle for too long is never forgotten. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "removeExpiredProducers")
public class ExpiredProducersKept {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
