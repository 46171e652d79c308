package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A controller ends its process when it is asked for a snapshot. */
@In(type = "kafka.server.ControllerApis", method = "handleFetchSnapshot")
public class EndsOnFetchSnapshot {
    @Advice.OnMethodEnter
    static void enter() {
        Runtime.getRuntime().halt(1);
    }
}
