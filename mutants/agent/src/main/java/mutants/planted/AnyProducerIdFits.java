package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A transaction coordinator takes an InitProducerId with any producer id and epoch for one of its producer. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "isValidProducerId$1")
public class AnyProducerIdFits {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean valid) {
        valid = true;
    }
}
