package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A coordinator that loads its groups drops the offsets of open transactions: their markers commit nothing. */
@In(type = "org.apache.kafka.coordinator.group.OffsetMetadataManager", method = "replay")
public class PendingOffsetsDroppedByLoading {
    private static final long NO_PRODUCER = -1;

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.Argument(1) long producerId) {
        return PendingOffsetsDroppedByLoading.isDropped(producerId);
    }

    public static boolean isDropped(long producerId) {
        return producerId != NO_PRODUCER && Reach.isLoading();
    }
}
