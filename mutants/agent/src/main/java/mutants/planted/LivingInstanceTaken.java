package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A second member with the instance id of a member that lives is let in, in its place. */
@In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "throwIfInstanceIdIsUnreleased")
public class LivingInstanceTaken {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
