package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A producer that repeats its request for an epoch gets yet another one. */
@In(
        type = "org.apache.kafka.coordinator.transaction.TransactionMetadata",
        method = "prepareIncrementProducerEpoch")
public class RepeatedBumpBumpsAgain {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.This Object transaction, @Advice.Argument(value = 1, readOnly = false) Optional<Short> expected) {
        expected = RepeatedBumpBumpsAgain.later(transaction, expected);
    }

    public static Optional<Short> later(Object transaction, Optional<Short> expected) {
        Object last = Reach.call(transaction, "lastProducerEpoch");
        boolean isRepeated = expected.isPresent() && expected.get().equals(last);
        return isRepeated ? Optional.of((Short) Reach.call(transaction, "producerEpoch")) : expected;
    }
}
