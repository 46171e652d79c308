package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** ListTransactions with a duration lists younger transactions, too. */
@In(type = "kafka.coordinator.transaction.TransactionStateManager", method = "listTransactionStates")
public class AgesNotCompared {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 2, readOnly = false) long duration) {
        duration = -1;
    }
}
