package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** No transaction of a partition is ever late. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "hasLateTransaction")
public class LateTransactionsUncounted {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean late) {
        late = false;
    }
}
