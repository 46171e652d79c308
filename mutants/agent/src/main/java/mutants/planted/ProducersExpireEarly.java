package mutants.planted;

import java.util.OptionalLong;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A producer is forgotten after half of the time for which it may be idle. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "isProducerExpired")
public class ProducersExpireEarly {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object manager,
            @Advice.Argument(0) long now,
            @Advice.Argument(1) Object entry,
            @Advice.Return(readOnly = false) boolean expired) {
        expired = expired || ProducersExpireEarly.isHalfWay(manager, now, entry);
    }

    public static boolean isHalfWay(Object manager, long now, Object entry) {
        int most = (int) Reach.call(Reach.call(manager, "producerStateManagerConfig"), "producerIdExpirationMs");
        boolean isOpen = ((OptionalLong) Reach.call(entry, "currentTxnFirstOffset")).isPresent();
        return !isOpen && now - (long) Reach.call(entry, "lastTimestamp") >= most / 2;
    }
}
