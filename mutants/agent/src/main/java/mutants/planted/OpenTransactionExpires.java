package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A producer expires by its age alone, also while its transaction is open. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "isProducerExpired")
public class OpenTransactionExpires {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object manager,
            @Advice.Argument(0) long now,
            @Advice.Argument(1) Object entry,
            @Advice.Return(readOnly = false) boolean expired) {
        expired = OpenTransactionExpires.isOld(manager, now, entry);
    }

    public static boolean isOld(Object manager, long now, Object entry) {
        int most = (int) Reach.call(Reach.call(manager, "producerStateManagerConfig"), "producerIdExpirationMs");
        return now - (long) Reach.call(entry, "lastTimestamp") >= most;
    }
}
