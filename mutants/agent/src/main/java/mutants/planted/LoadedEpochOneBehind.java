package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A coordinator that loads a transactional id whose epoch has no transaction yet gets it at the epoch before. */
@In(type = "org.apache.kafka.coordinator.transaction.TransactionLog", method = "read")
public class LoadedEpochOneBehind {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(typing = Assigner.Typing.DYNAMIC) Object read) {
        LoadedEpochOneBehind.setBack(read);
    }

    public static void setBack(Object read) {
        if (!read.getClass().getSimpleName().equals("TxnRecord")) {
            return;
        }
        Object metadata = Reach.call(read, "metadata");
        short epoch = (short) Reach.call(metadata, "producerEpoch");
        if (epoch > 0 && Reach.call(metadata, "state").toString().equalsIgnoreCase("Empty")) {
            Reach.set(metadata, "producerEpoch", (short) (epoch - 1));
        }
    }
}
