package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** AddPartitionsToTxn adds partitions without looking whether they exist. */
public class AbsentPartitionsAdded {
    private static final ThreadLocal<Boolean> ADDS = ThreadLocal.withInitial(() -> false);

    @In(type = "kafka.server.KafkaApis", method = "handleAddPartitionsToTxnRequest")
    public static class Asked {
        @Advice.OnMethodEnter
        static void enter() {
            AbsentPartitionsAdded.adds(true);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit() {
            AbsentPartitionsAdded.adds(false);
        }
    }

    @In(type = "org.apache.kafka.metadata.KRaftMetadataCache", method = "contains")
    public static class Looked {
        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false) boolean known) {
            known = known || AbsentPartitionsAdded.isAdding();
        }
    }

    public static void adds(boolean now) {
        ADDS.set(now);
    }

    public static boolean isAdding() {
        return ADDS.get();
    }
}
