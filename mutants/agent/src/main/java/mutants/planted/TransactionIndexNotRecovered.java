package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** When a segment is recovered after a crash, its index of aborted transactions is not rebuilt. */
public class TransactionIndexNotRecovered {
    private static final String LOG = "org.apache.kafka.storage.internals.log.";
    private static final ThreadLocal<Boolean> RECOVERS = ThreadLocal.withInitial(() -> false);

    @In(type = LOG + "LogSegment", method = "recover")
    public static class Recovered {
        @Advice.OnMethodEnter
        static void enter() {
            TransactionIndexNotRecovered.recovers(true);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit() {
            TransactionIndexNotRecovered.recovers(false);
        }
    }

    @In(type = LOG + "TransactionIndex", method = "append")
    public static class Appended {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter() {
            return TransactionIndexNotRecovered.isRecovering();
        }
    }

    public static void recovers(boolean now) {
        RECOVERS.set(now);
    }

    public static boolean isRecovering() {
        return RECOVERS.get();
    }
}
