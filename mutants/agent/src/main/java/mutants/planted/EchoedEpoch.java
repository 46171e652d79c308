package mutants.planted;

import java.util.AbstractMap;
import java.util.Map;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.TopicPartition;

/** The end of the epoch that was asked for, even if it is the end of a lower one because the log has none of it. */
@In(type = "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache", method = "endOffsetFor")
public class EchoedEpoch {
    @Advice.OnMethodExit
    static void exit(
            @Advice.FieldValue("topicPartition") TopicPartition partition,
            @Advice.Argument(0) int asked,
            @Advice.Return(readOnly = false) Map.Entry<Integer, Long> end) {
        if (end.getKey() >= 0 && !Reach.isMetadata(partition)) {
            end = new AbstractMap.SimpleImmutableEntry<>(asked, end.getValue());
        }
    }
}
