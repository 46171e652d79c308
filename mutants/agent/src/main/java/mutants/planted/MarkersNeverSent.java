package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** Markers are never sent, so no transaction with a partition completes. */
@In(type = "kafka.coordinator.transaction.TransactionMarkerChannelManager", method = "addTxnMarkersToBrokerQueue")
public class MarkersNeverSent {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
