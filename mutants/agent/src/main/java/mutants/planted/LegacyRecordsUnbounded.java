package mutants.planted;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** Partitions of a record without assignment epochs count as assigned before all epochs. */
@In(type = "org.apache.kafka.coordinator.group.Utils", method = "assignmentFromTopicPartitions")
public class LegacyRecordsUnbounded {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(2) List<?> topics, @Advice.Return(readOnly = false) Map<Object, Object> epochs) {
        epochs = LegacyRecordsUnbounded.extended(topics, epochs);
    }

    public static Map<Object, Object> extended(List<?> topics, Map<Object, Object> known) {
        Map<Object, Object> epochs = new HashMap<>(known);
        for (Object topic : topics) {
            List<?> stored = (List<?>) Reach.call(topic, "assignmentEpochs");
            if (stored == null || stored.isEmpty()) {
                Map<Object, Object> unbounded = new HashMap<>();
                for (Object partition : (List<?>) Reach.call(topic, "partitions")) {
                    unbounded.put(partition, -2);
                }
                epochs.put(Reach.call(topic, "topicId"), unbounded);
            }
        }
        return epochs;
    }
}
