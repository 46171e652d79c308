package mutants.planted;

import java.util.Map;
import java.util.TreeMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The assignment epoch of a partition is that of the first topic which has a partition of this number. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember", method = "assignmentEpoch")
public class EpochOfFirstTopic {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object member,
            @Advice.Argument(1) int partition,
            @Advice.Return(readOnly = false) Integer epoch) {
        epoch = EpochOfFirstTopic.first(member, partition);
    }

    public static Integer first(Object member, int partition) {
        Map<String, Integer> found = new TreeMap<>();
        ((Map<?, ?>) Reach.call(member, "assignedPartitions")).forEach((topic, epochs) -> {
            if (((Map<?, ?>) epochs).containsKey(partition)) {
                found.put(topic.toString(), (Integer) ((Map<?, ?>) epochs).get(partition));
            }
        });
        return found.isEmpty() ? null : found.values().iterator().next();
    }
}
