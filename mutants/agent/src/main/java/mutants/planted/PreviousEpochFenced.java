package mutants.planted;

import java.util.List;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** A member that heartbeats at its previous epoch is fenced, though it owns no more than it was assigned. */
@In(
        type = "org.apache.kafka.coordinator.group.GroupMetadataManager",
        method = "throwIfConsumerGroupMemberEpochIsInvalid")
public class PreviousEpochFenced {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 2, readOnly = false) List<?> owned) {
        owned = null;
    }
}
