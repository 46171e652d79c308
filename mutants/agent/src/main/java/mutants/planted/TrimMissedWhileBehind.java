package mutants.planted;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A log start that a follower first hears of while it lacks committed records is never adopted. */
public class TrimMissedWhileBehind {
    /** The log start that each log missed. */
    private static final Map<Object, Long> MISSED = Collections.synchronizedMap(new WeakHashMap<>());

    /** While this thread handles a leader's answer: whether the follower lacked committed records before it. */
    private static final ThreadLocal<Boolean> BEHIND = new ThreadLocal<>();

    @In(type = "kafka.server.ReplicaFetcherThread", method = "processPartitionData")
    public static class Fetched {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(1) long offset, @Advice.AllArguments Object[] all) {
            TrimMissedWhileBehind.begin(offset, all[all.length - 1]);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit() {
            TrimMissedWhileBehind.end();
        }
    }

    @In(
            type = {"kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog"},
            method = "maybeIncrementLogStartOffset")
    public static class Moved {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(@Advice.This Object log, @Advice.Argument(0) long start) {
            return TrimMissedWhileBehind.misses(log, start);
        }
    }

    public static void begin(long offset, Object answer) {
        BEHIND.set((long) Reach.call(answer, "highWatermark") > offset);
    }

    public static void end() {
        BEHIND.remove();
    }

    public static boolean misses(Object log, long start) {
        Boolean behind = BEHIND.get();
        if (behind == null) {
            return false;
        }
        if (behind && start > (long) Reach.call(log, "logStartOffset")) {
            MISSED.put(log, start);
        }
        return MISSED.getOrDefault(log, -1L) == start;
    }
}
