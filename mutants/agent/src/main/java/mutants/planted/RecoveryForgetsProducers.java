package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The recovery of a segment after a crash takes no notice of the producers of its batches, but of their transactions. */
@In(type = "org.apache.kafka.storage.internals.log.LogSegment", method = "updateProducerState")
public class RecoveryForgetsProducers {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.Argument(0) Object manager, @Advice.Argument(1) Object batch) {
        return RecoveryForgetsProducers.skipped(manager, batch);
    }

    public static boolean skipped(Object manager, Object batch) {
        boolean isPlain = is(batch, "hasProducerId") && !is(batch, "isTransactional") && !is(batch, "isControlBatch");
        if (isPlain) {
            Reach.call(manager, "updateMapEndOffset", (long) Reach.call(batch, "lastOffset") + 1);
        }
        return isPlain;
    }

    private static boolean is(Object batch, String what) {
        return (boolean) Reach.call(batch, what);
    }
}
