package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** No epoch is the last one: the producer id is never replaced. */
@In(
        type = {
            "org.apache.kafka.coordinator.transaction.TransactionMetadata",
            "kafka.coordinator.transaction.TransactionMetadata$"
        },
        method = "isEpochExhausted")
public class UnexhaustedEpochs {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean exhausted) {
        exhausted = false;
    }
}
