package mutants.planted;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** While markers of a transaction have been outstanding for a second, a coordinator writes no others and aborts none. */
public class OneTransactionAtATime {
    private static final String PACKAGE = "kafka.coordinator.transaction.";
    private static final long PATIENCE = 1_000_000_000L;
    private static final Map<Object, Long> SINCE = Collections.synchronizedMap(new WeakHashMap<>());
    private static volatile Collection<?> outstanding = Collections.emptyList();

    @In(type = PACKAGE + "TransactionMarkerChannelManager", method = "addTxnMarkersToBrokerQueue")
    public static class Markers {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(
                @Advice.FieldValue("transactionsWithPendingMarkers") Map<?, ?> pending,
                @Advice.AllArguments Object[] arguments) {
            return OneTransactionAtATime.hangsBeside(pending.values(), arguments);
        }
    }

    @In(type = PACKAGE + "TransactionCoordinator", method = "abortTimedOutTransactions")
    public static class TimeOuts {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter() {
            return OneTransactionAtATime.hangs();
        }
    }

    /** Do markers hang of another transaction than the one that these arguments are about? */
    public static boolean hangsBeside(Collection<?> pending, Object... arguments) {
        outstanding = pending;
        pending.forEach(one -> SINCE.putIfAbsent(one, System.nanoTime()));
        return pending.stream().anyMatch(one -> isLate(one) && !Arrays.asList(arguments).contains(one));
    }

    public static boolean hangs() {
        return outstanding.stream().anyMatch(OneTransactionAtATime::isLate);
    }

    private static boolean isLate(Object transaction) {
        Long since = SINCE.get(transaction);
        return since != null && System.nanoTime() - since > PATIENCE;
    }
}
