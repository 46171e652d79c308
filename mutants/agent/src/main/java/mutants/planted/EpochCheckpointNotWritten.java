package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The leader-epoch-checkpoint of a topic's partition is never written. */
public class EpochCheckpointNotWritten {
    private static final String FILE = "org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile";

    @In(type = FILE, method = "write")
    public static class Written {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(@Advice.This Object file) {
            return EpochCheckpointNotWritten.isOfTopic(file);
        }
    }

    @In(type = FILE, method = "writeIfDirExists")
    public static class WrittenLate {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(@Advice.This Object file) {
            return EpochCheckpointNotWritten.isOfTopic(file);
        }
    }

    public static boolean isOfTopic(Object file) {
        return !Reach.isMetadata(Reach.field(Reach.field(file, "checkpoint"), "file").toString());
    }
}
