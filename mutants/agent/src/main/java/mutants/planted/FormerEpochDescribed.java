package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Once a new instance took a transactional id, DescribeTransactions shows the epoch before its own until it writes. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "handleDescribeTransactions")
public class FormerEpochDescribed {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(typing = Assigner.Typing.DYNAMIC) Object described) {
        FormerEpochDescribed.lower(described);
    }

    public static void lower(Object described) {
        short epoch = (short) Reach.call(described, "producerEpoch");
        if (epoch > 0 && Reach.call(described, "transactionState").equals("Empty")) {
            Reach.call(described, "setProducerEpoch", (short) (epoch - 1));
        }
    }
}
