package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.UnknownProducerIdException;

/** A batch that leaves a small gap in its producer's sequence is refused with UNKNOWN_PRODUCER_ID. */
public class SmallGapUnknownProducer {
    private static final int SMALL = 20;

    @In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "checkSequence")
    public static class Checked {
        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(
                @Advice.This Object append,
                @Advice.Argument(0) short epoch,
                @Advice.Argument(1) int sequence,
                @Advice.Thrown(readOnly = false) Throwable refusal) {
            if (refusal instanceof OutOfOrderSequenceException
                    && SmallGapUnknownProducer.isSmall(Reach.field(append, "currentEntry"), epoch, sequence)) {
                refusal = new UnknownProducerIdException("planted: a gap before sequence " + sequence);
            }
        }
    }

    public static boolean isSmall(Object entry, short epoch, int sequence) {
        int gap = sequence - (int) Reach.call(entry, "lastSeq");
        return (short) Reach.call(entry, "producerEpoch") == epoch && gap > 1 && gap <= SMALL;
    }
}
