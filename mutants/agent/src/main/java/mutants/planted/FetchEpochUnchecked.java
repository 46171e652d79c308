package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A member is told the committed offsets at whatever epoch it asks. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "validateOffsetFetch")
public class FetchEpochUnchecked {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
