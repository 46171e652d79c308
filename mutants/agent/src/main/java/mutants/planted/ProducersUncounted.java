package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** Each partition counts one producer less than it has, unless it has none. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateManager", method = "producerIdCount")
public class ProducersUncounted {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) int count) {
        count = Math.max(0, count - 1);
    }
}
