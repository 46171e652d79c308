package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Within a transaction a member may commit any partition at any epoch that it has had. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "validateOffsetCommit")
public class TransactionsAtAnyOlderEpoch {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(2) int epoch,
            @Advice.Argument(3) boolean transactional,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object validator) {
        validator = transactional && epoch >= 0 ? Reach.constant(validator, "NO_OP") : validator;
    }
}
