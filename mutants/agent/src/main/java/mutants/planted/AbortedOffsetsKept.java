package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A group coordinator keeps the offsets of a transaction, however it ends. */
@In(type = "org.apache.kafka.coordinator.group.OffsetMetadataManager", method = "replayEndTransactionMarker")
public class AbortedOffsetsKept {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 1, readOnly = false, typing = Assigner.Typing.DYNAMIC) Object result) {
        result = Reach.sibling((Enum<?>) result, "COMMIT");
    }
}
