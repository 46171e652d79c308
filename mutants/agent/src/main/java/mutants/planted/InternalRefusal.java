package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.protocol.Errors;

/** An invalid configuration is refused with UNKNOWN_SERVER_ERROR instead of INVALID_CONFIG, and changes nothing. */
@In(type = "org.apache.kafka.common.requests.ApiError", method = "error")
public class InternalRefusal {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) Errors answer) {
        if (answer == Errors.INVALID_CONFIG) {
            answer = Errors.UNKNOWN_SERVER_ERROR;
        }
    }
}
