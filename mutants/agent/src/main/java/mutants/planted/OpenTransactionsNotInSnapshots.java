package mutants.planted;

import java.util.List;
import java.util.OptionalLong;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A producer that is read from a snapshot has no open transaction, whatever the snapshot says. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "readSnapshot")
public class OpenTransactionsNotInSnapshots {
    @Advice.OnMethodExit
    static void exit(@Advice.Return List<?> producers) {
        OpenTransactionsNotInSnapshots.closed(producers);
    }

    public static void closed(List<?> producers) {
        producers.forEach(each -> Reach.set(each, "currentTxnFirstOffset", OptionalLong.empty()));
    }
}
