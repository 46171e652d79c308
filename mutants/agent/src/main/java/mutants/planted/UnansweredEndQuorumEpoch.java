package mutants.planted;

import java.util.concurrent.CompletableFuture;
import mutants.In;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** EndQuorumEpoch is never answered. */
@In(type = "kafka.server.ControllerApis", method = "handleEndQuorumEpoch")
public class UnansweredEndQuorumEpoch {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }

    @Advice.OnMethodExit
    static void exit(
            @Advice.Enter boolean skipped,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object handled) {
        if (skipped) {
            handled = new CompletableFuture<Object>();
        }
    }
}
