package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;

/** Where one partition of a Produce is refused for its sequence, those that come after it in the request are too. */
public class RefusalSpreads {
    private static final ThreadLocal<Boolean> REFUSED = ThreadLocal.withInitial(() -> false);

    @In(type = "kafka.server.ReplicaManager", method = "appendRecordsToLeader")
    public static class Request {
        @Advice.OnMethodEnter
        static void enter() {
            RefusalSpreads.refused(false);
        }
    }

    @In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "checkSequence")
    public static class Checked {
        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(
                @Advice.Argument(1) int sequence, @Advice.Thrown(readOnly = false) Throwable refusal) {
            if (refusal == null && RefusalSpreads.isRefused()) {
                refusal = new OutOfOrderSequenceException("planted: another partition was refused, sequence " + sequence);
            }
            RefusalSpreads.refused(refusal != null);
        }
    }

    public static void refused(boolean refused) {
        REFUSED.set(refused);
    }

    public static boolean isRefused() {
        return REFUSED.get();
    }
}
