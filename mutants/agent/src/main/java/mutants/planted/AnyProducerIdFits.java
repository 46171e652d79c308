package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A transaction coordinator does not look whether an InitProducerId names the producer id that it knows. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "isValidProducerId$1")
public class AnyProducerIdFits {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean valid) {
        valid = true;
    }
}
