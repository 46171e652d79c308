package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A leader takes each transactional write for one of an open transaction, and never asks the coordinator. */
@In(type = "org.apache.kafka.storage.internals.log.UnifiedLog", method = "hasOngoingTransaction")
public class TransactionsTakenForGranted {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean isOpen) {
        isOpen = true;
    }
}
