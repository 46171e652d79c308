package mutants.planted;

import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** With several transactions open on a partition, the last stable offset is bounded by the second one. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "firstUnstableOffset")
public class SecondTransactionUnbounded {
    @Advice.OnMethodExit
    static void exit(@Advice.This Object manager, @Advice.Return(readOnly = false) Optional<?> first) {
        first = SecondTransactionUnbounded.second(manager, first);
    }

    public static Optional<?> second(Object manager, Optional<?> first) {
        Map<?, ?> open = (Map<?, ?>) Reach.field(manager, "ongoingTxns");
        if (open.size() < 2) {
            return first;
        }
        Iterator<?> transactions = open.values().iterator();
        transactions.next();
        return Optional.of(Reach.field(transactions.next(), "firstOffset"));
    }
}
