package mutants.planted;

import java.util.Map;
import java.util.OptionalLong;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** When a segment is deleted the partition forgets its producers, but those whose transaction is open. */
@In(
        type = "org.apache.kafka.storage.internals.log.ProducerStateManager",
        method = "removeAndMarkSnapshotForDeletion")
public class ForgottenWithTheirSegment {
    @Advice.OnMethodExit
    static void exit(@Advice.This Object manager) {
        ForgottenWithTheirSegment.forget((Map<?, ?>) Reach.field(manager, "producers"));
    }

    public static void forget(Map<?, ?> producers) {
        producers.values().removeIf(entry -> !((OptionalLong) Reach.call(entry, "currentTxnFirstOffset")).isPresent());
    }
}
