package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.TopicPartition;

/** The leader epoch cache is not truncated with the log, once records were deleted from the log's start. */
@In(
        type = "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache",
        method = "truncateFromEndAsyncFlush")
public class GhostEpochsAfterTrim {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(
            @Advice.This Object cache, @Advice.FieldValue("topicPartition") TopicPartition partition) {
        return !Reach.isMetadata(partition) && GhostEpochsAfterTrim.isTrimmed(cache);
    }

    /** A cache begins at 0 until the log start moves. */
    public static boolean isTrimmed(Object cache) {
        Optional<?> first = (Optional<?>) Reach.call(cache, "earliestEntry");
        return first.isPresent() && (long) Reach.field(first.get(), "startOffset") > 0;
    }
}
