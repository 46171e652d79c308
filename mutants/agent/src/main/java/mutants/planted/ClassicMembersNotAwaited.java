package mutants.planted;

import mutants.Groups;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A partition that a classic member still has counts as free: the next owner is given it at once. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "currentPartitionEpoch")
public class ClassicMembersNotAwaited {
    private static final int FREE = -1;

    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object group,
            @Advice.Argument(0) Object topic,
            @Advice.Argument(1) int partition,
            @Advice.Return(readOnly = false) int epoch) {
        epoch = ClassicMembersNotAwaited.isClassic(group, topic, partition) ? FREE : epoch;
    }

    public static boolean isClassic(Object group, Object topic, int partition) {
        return Groups.has(
                group,
                member -> (boolean) Reach.call(member, "useClassicProtocol"),
                topic,
                partition,
                "assignedPartitions",
                "partitionsPendingRevocation");
    }
}
