package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.TopicPartition;

/** The map of epochs is not cut where the log is. */
@In(
        type = "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache",
        method = "truncateFromEndAsyncFlush")
public class GhostEpochs {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.FieldValue("topicPartition") TopicPartition partition) {
        return !Reach.isMetadata(partition);
    }
}
