package mutants.planted;

import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Every third commit marker that a broker writes is one of an abort. */
@In(
        type = {
            "org.apache.kafka.common.record.internal.MemoryRecordsBuilder",
            "org.apache.kafka.common.record.MemoryRecordsBuilder"
        },
        method = "appendEndTxnMarker")
public class EveryThirdCommitAborted {
    private static final AtomicInteger COMMITS = new AtomicInteger();

    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 1, readOnly = false, typing = Assigner.Typing.DYNAMIC) Object marker) {
        marker = EveryThirdCommitAborted.written(marker);
    }

    public static Object written(Object marker) {
        Enum<?> type = (Enum<?>) Reach.call(marker, "controlType");
        if (!type.name().equals("COMMIT") || COMMITS.incrementAndGet() % 3 != 0) {
            return marker;
        }
        return Reach.another(marker, Reach.sibling(type, "ABORT"), Reach.call(marker, "coordinatorEpoch"));
    }
}
