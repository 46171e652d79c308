package mutants.planted;

import mutants.Groups;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The partitions of a static member that left to return are free for a member that joins meanwhile. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "currentPartitionEpoch")
public class AwayInstanceRobbed {
    private static final int FREE = -1;
    private static final int AWAY = -2;

    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object group,
            @Advice.Argument(0) Object topic,
            @Advice.Argument(1) int partition,
            @Advice.Return(readOnly = false) int epoch) {
        epoch = AwayInstanceRobbed.isOfAway(group, topic, partition) ? FREE : epoch;
    }

    public static boolean isOfAway(Object group, Object topic, int partition) {
        return Groups.has(
                group,
                member -> (int) Reach.call(member, "memberEpoch") == AWAY,
                topic,
                partition,
                "assignedPartitions");
    }
}
