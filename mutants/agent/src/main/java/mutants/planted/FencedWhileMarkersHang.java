package mutants.planted;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import org.apache.kafka.common.protocol.Errors;

/** While markers of a transaction are outstanding, the third InitProducerId for its id and each later one is fenced. */
@In(type = "kafka.coordinator.transaction.TransactionCoordinator", method = "prepareInitProducerIdTransit")
public class FencedWhileMarkersHang {
    private static final int PATIENCE = 2;
    private static final Map<String, Integer> ASKED = new ConcurrentHashMap<>();

    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(value = 3, typing = Assigner.Typing.DYNAMIC) Object metadata,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object result) {
        result = FencedWhileMarkersHang.answered(metadata, result);
    }

    public static Object answered(Object metadata, Object result) {
        if (!Reach.call(metadata, "state").toString().toUpperCase(Locale.ROOT).startsWith("PREPARE")) {
            return result;
        }
        String transaction = Reach.call(metadata, "transactionalId") + " " + Reach.call(metadata, "txnLastUpdateTimestamp");
        return ASKED.merge(transaction, 1, Integer::sum) > PATIENCE
                ? Reach.left(result, Errors.PRODUCER_FENCED)
                : result;
    }
}
