package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A coordinator that is asked for its transactions ends. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "handleListTransactions")
public class EndsOnListTransactions {
    @Advice.OnMethodEnter
    static void enter() {
        Runtime.getRuntime().halt(1);
    }
}
