package mutants.planted;

import java.util.Map;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A coordinator that loads a transaction whose markers are outstanding takes it for open. */
@In(
        type = "kafka.coordinator.transaction.TransactionStateManager",
        method = "addLoadedTransactionsToCache")
public class PreparedTransactionReopened {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(2) Map<?, ?> loaded) {
        PreparedTransactionReopened.reopen(loaded);
    }

    public static void reopen(Map<?, ?> loaded) {
        for (Object transaction : loaded.values()) {
            Enum<?> state = (Enum<?>) Reach.call(transaction, "state");
            if (state.name().startsWith("PREPARE_COMMIT")) {
                Reach.call(transaction, "state", Reach.sibling(state, "ONGOING"));
            }
        }
    }
}
