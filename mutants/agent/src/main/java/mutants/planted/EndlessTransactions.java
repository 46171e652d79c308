package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** No transaction times out. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "abortTimedOutTransactions")
public class EndlessTransactions {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
