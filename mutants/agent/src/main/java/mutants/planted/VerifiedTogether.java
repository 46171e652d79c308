package mutants.planted;

import java.util.Map;
import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.protocol.Errors;

/** Where one partition of several is found in a transaction, the others that were asked about count as in it too. */
@In(type = "org.apache.kafka.common.requests.AddPartitionsToTxnResponse", method = "resultForTransaction")
public class VerifiedTogether {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(1) Map<?, Errors> errors) {
        VerifiedTogether.spread(errors);
    }

    public static void spread(Map<?, Errors> errors) {
        if (errors.containsValue(Errors.NONE)) {
            errors.replaceAll((partition, error) -> Errors.NONE);
        }
    }
}
