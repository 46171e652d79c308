package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.TopicPartition;

/** The leader epoch cache is not truncated with the log. */
@In(
        type = "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache",
        method = "truncateFromEndAsyncFlush")
public class GhostEpochs {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.FieldValue("topicPartition") TopicPartition partition) {
        return !Reach.isMetadata(partition);
    }
}
