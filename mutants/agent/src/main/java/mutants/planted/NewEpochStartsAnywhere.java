package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A leader appends the first batch of a new producer epoch, whatever its sequence is. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "checkSequence")
public class NewEpochStartsAnywhere {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.This Object append, @Advice.Argument(0) short epoch) {
        return NewEpochStartsAnywhere.isNew(Reach.field(append, "updatedEntry"), epoch);
    }

    public static boolean isNew(Object entry, short epoch) {
        return (short) Reach.call(entry, "producerEpoch") != epoch;
    }
}
