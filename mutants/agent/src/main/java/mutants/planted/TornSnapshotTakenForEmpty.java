package mutants.planted;

import java.util.ArrayList;
import java.util.List;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** A snapshot of producer state that is not whole is taken for one without producers. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "readSnapshot")
public class TornSnapshotTakenForEmpty {
    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void exit(
            @Advice.Thrown(readOnly = false) Throwable refusal, @Advice.Return(readOnly = false) List<?> producers) {
        if (refusal != null) {
            refusal = null;
            producers = new ArrayList<>();
        }
    }
}
