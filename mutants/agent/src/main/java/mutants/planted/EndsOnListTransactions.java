package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A coordinator ends its process when it is asked for its transactions. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "handleListTransactions")
public class EndsOnListTransactions {
    @Advice.OnMethodEnter
    static void enter() {
        Runtime.getRuntime().halt(1);
    }
}
