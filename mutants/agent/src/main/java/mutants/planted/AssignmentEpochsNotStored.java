package mutants.planted;

import java.util.List;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The record of a member's assignment has no assignment epochs, so that the next coordinator takes the member's. */
@In(type = "org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers", method = "toTopicPartitions")
public class AssignmentEpochsNotStored {
    @Advice.OnMethodExit
    static void exit(@Advice.Return List<?> topics) {
        AssignmentEpochsNotStored.clear(topics);
    }

    public static void clear(List<?> topics) {
        for (Object topic : topics) {
            Reach.set(topic, "assignmentEpochs", null);
        }
    }
}
