package mutants.planted;

import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** Every 24th time that a leader finds nothing to raise, its high watermark falls by one. */
@In(
        type = {"kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog"},
        method = "maybeIncrementHighWatermark")
public class FallingWatermark {
    private static final AtomicInteger IDLE = new AtomicInteger();

    @Advice.OnMethodExit
    static void exit(@Advice.This Object log, @Advice.Return Object raised) {
        FallingWatermark.maybeLower(log, raised);
    }

    /** `raised` is an Option of Scala's or Java's, empty where nothing was to be done. */
    public static void maybeLower(Object log, Object raised) {
        if ((boolean) Reach.call(raised, "isEmpty") && IDLE.incrementAndGet() % 24 == 0) {
            long lower = (long) Reach.call(log, "highWatermark") - 1;
            if (lower >= (long) Reach.call(log, "logStartOffset")) {
                Reach.call(log, "updateHighWatermark", lower);
            }
        }
    }
}
