package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** Offsets that were committed within a transaction stay pending forever. */
@In(type = "org.apache.kafka.coordinator.group.OffsetMetadataManager", method = "replayEndTransactionMarker")
public class OffsetsNeverDecided {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
