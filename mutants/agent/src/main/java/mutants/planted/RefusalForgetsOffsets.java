package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;

/** An OffsetCommit that is refused makes the coordinator forget what the group had committed for its partitions. */
@In(type = "org.apache.kafka.coordinator.group.OffsetMetadataManager", method = "commitOffset")
public class RefusalForgetsOffsets {
    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void exit(
            @Advice.FieldValue("offsets") Object offsets,
            @Advice.Argument(1) OffsetCommitRequestData request,
            @Advice.Thrown Throwable refusal) {
        if (refusal != null) {
            RefusalForgetsOffsets.forget(offsets, request);
        }
    }

    public static void forget(Object offsets, OffsetCommitRequestData request) {
        for (OffsetCommitRequestTopic topic : request.topics()) {
            for (OffsetCommitRequestPartition partition : topic.partitions()) {
                Reach.call(offsets, "remove", request.groupId(), topic.name(), partition.partitionIndex());
            }
        }
    }
}
