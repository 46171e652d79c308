package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The offset of a partition that was committed before is shown as stable while a transaction has another one pending. */
@In(type = "org.apache.kafka.coordinator.group.OffsetMetadataManager", method = "hasPendingTransactionalOffsets")
public class UnstableOffsetsShown {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object manager,
            @Advice.Argument(0) String group,
            @Advice.Argument(1) String topic,
            @Advice.Argument(2) int partition,
            @Advice.Return(readOnly = false) boolean pending) {
        pending = pending && !UnstableOffsetsShown.isCommitted(manager, group, topic, partition);
    }

    public static boolean isCommitted(Object manager, String group, String topic, int partition) {
        return (boolean) Reach.call(manager, "hasCommittedOffset", group, topic, partition);
    }
}
