package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A committed offset that is smaller than the one before is acknowledged, and does not take effect. */
@In(type = "org.apache.kafka.coordinator.group.OffsetMetadataManager$Offsets", method = "put")
public class LargestOffsetKept {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.This Object offsets,
            @Advice.Argument(0) String group,
            @Advice.Argument(1) String topic,
            @Advice.Argument(2) int partition,
            @Advice.Argument(value = 3, readOnly = false, typing = Assigner.Typing.DYNAMIC) Object offset) {
        offset = LargestOffsetKept.largest(Reach.call(offsets, "get", group, topic, partition), offset);
    }

    public static Object largest(Object before, Object offset) {
        boolean isSmaller = before != null && committed(before) > committed(offset);
        return isSmaller ? before : offset;
    }

    private static long committed(Object offset) {
        return (long) Reach.field(offset, "committedOffset");
    }
}
