package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import org.apache.kafka.common.protocol.Errors;

/** A producer whose transactional id has expired is fenced when it asks for its next epoch. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "prepareInitProducerIdTransit")
public class ForgottenIdFenced {
    private static final short NO_EPOCH = -1;

    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(value = 3, typing = Assigner.Typing.DYNAMIC) Object metadata,
            @Advice.Argument(value = 4, typing = Assigner.Typing.DYNAMIC) Object expected,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object result) {
        result = ForgottenIdFenced.answered(metadata, expected, result);
    }

    public static Object answered(Object metadata, Object expected, Object result) {
        boolean isNew = (short) Reach.call(metadata, "producerEpoch") == NO_EPOCH;
        return isNew && (boolean) Reach.call(expected, "isDefined")
                ? Reach.left(result, Errors.PRODUCER_FENCED)
                : result;
    }
}
