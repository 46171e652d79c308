package mutants.planted;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** Every second batch that comes again is not recognised, and is appended once more. */
public class DuplicatesAppended {
    private static final AtomicInteger FOUND = new AtomicInteger();

    @In(type = "org.apache.kafka.storage.internals.log.ProducerStateEntry", method = "findDuplicateBatch")
    public static class Looked {
        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false) Optional<?> found) {
            found = DuplicatesAppended.recognised(found);
        }
    }

    @In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "checkSequence")
    public static class Checked {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(@Advice.This Object append, @Advice.Argument(1) int sequence) {
            return sequence <= (int) Reach.call(Reach.field(append, "currentEntry"), "lastSeq");
        }
    }

    public static Optional<?> recognised(Optional<?> found) {
        return found.isPresent() && FOUND.incrementAndGet() % 2 == 0 ? Optional.empty() : found;
    }
}
