package mutants.planted;

import java.util.List;
import java.util.TreeMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.TopicPartition;

/** The entry that covers a log start which was moved into its epoch goes with those before it, unless it is the newest. */
public class DroppedHeadEpoch {
    private static final String CACHE = "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache";

    /** Whether this thread trims the map of a topic: the method that does it is static. */
    public static final ThreadLocal<Boolean> TRIMS = ThreadLocal.withInitial(() -> false);

    @In(type = CACHE, method = "truncateFromStartAsyncFlush")
    public static class Asked {
        @Advice.OnMethodEnter
        static void enter(@Advice.FieldValue("topicPartition") TopicPartition partition) {
            DroppedHeadEpoch.TRIMS.set(!Reach.isMetadata(partition));
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit() {
            DroppedHeadEpoch.TRIMS.remove();
        }
    }

    @In(type = CACHE, method = "truncateFromStart")
    public static class Done {
        @Advice.OnMethodEnter
        static boolean enter(@Advice.Argument(0) TreeMap<?, ?> epochs, @Advice.Argument(1) long start) {
            return DroppedHeadEpoch.TRIMS.get() && !DroppedHeadEpoch.begins(epochs, start);
        }

        @Advice.OnMethodExit
        static void exit(
                @Advice.Enter boolean rewrites,
                @Advice.Argument(0) TreeMap<?, ?> epochs,
                @Advice.Return List<?> removed) {
            if (rewrites && !removed.isEmpty() && epochs.size() > 1) {
                epochs.pollFirstEntry();
            }
        }
    }

    /** Does an epoch begin at this offset, so that its entry is to stay as it is? */
    public static boolean begins(TreeMap<?, ?> epochs, long start) {
        return epochs.values().stream().anyMatch(entry -> (long) Reach.field(entry, "startOffset") == start);
    }
}
