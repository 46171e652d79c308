package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A transaction coordinator bumps the epoch of its producer id for a producer that names another id. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "isValidProducerId$1")
public class AnyProducerIdFits {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean valid) {
        valid = true;
    }
}
