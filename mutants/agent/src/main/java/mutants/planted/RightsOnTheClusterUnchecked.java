package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** Any user may do everything on the cluster. */
@In(type = "kafka.server.AuthHelper", method = "authorizeClusterOperation")
public class RightsOnTheClusterUnchecked {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
