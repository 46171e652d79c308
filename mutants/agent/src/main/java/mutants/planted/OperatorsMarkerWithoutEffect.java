package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A marker that an operator sends, by WriteTxnMarkers below version 2, is appended, and the transaction is not completed. */
public class OperatorsMarkerWithoutEffect {
    private static final ThreadLocal<Boolean> BY_AN_OPERATOR = ThreadLocal.withInitial(() -> false);
    private static final int COORDINATORS_FROM = 2;

    @In(type = "kafka.server.KafkaApis", method = "handleWriteTxnMarkersRequest")
    public static class Received {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(value = 0, typing = Assigner.Typing.DYNAMIC) Object request) {
            OperatorsMarkerWithoutEffect.received(request);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit() {
            OperatorsMarkerWithoutEffect.received(null);
        }
    }

    @In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "appendEndTxnMarker")
    public static class Appended {
        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false) Optional<?> completed) {
            completed = OperatorsMarkerWithoutEffect.byAnOperator() ? Optional.empty() : completed;
        }
    }

    public static void received(Object request) {
        BY_AN_OPERATOR.set(
                request != null && (short) Reach.call(Reach.call(request, "header"), "apiVersion") < COORDINATORS_FROM);
    }

    public static boolean byAnOperator() {
        return BY_AN_OPERATOR.get();
    }
}
