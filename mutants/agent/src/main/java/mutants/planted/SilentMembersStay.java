package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A member of the consumer protocol that falls silent stays in its group. */
@In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "scheduleConsumerGroupSessionTimeout")
public class SilentMembersStay {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
