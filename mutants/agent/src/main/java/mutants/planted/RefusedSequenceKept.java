package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A batch that is refused for a large gap in its sequence moves the producer's last sequence. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "checkSequence")
public class RefusedSequenceKept {
    private static final int LARGE = 1_000;

    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void exit(
            @Advice.This Object append,
            @Advice.Argument(0) short epoch,
            @Advice.Argument(1) int sequence,
            @Advice.Argument(2) long offset,
            @Advice.Thrown Throwable refusal) {
        if (refusal != null) {
            RefusedSequenceKept.keep(Reach.field(append, "currentEntry"), epoch, sequence, offset);
        }
    }

    public static void keep(Object entry, short epoch, int sequence, long offset) {
        boolean isSame = (short) Reach.call(entry, "producerEpoch") == epoch;
        if (isSame && sequence - (int) Reach.call(entry, "lastSeq") > LARGE) {
            Reach.call(entry, "addBatch", epoch, sequence, offset, 0, (long) Reach.call(entry, "lastTimestamp"));
        }
    }
}
