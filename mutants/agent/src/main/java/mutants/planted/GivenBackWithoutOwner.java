package mutants.planted;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A partition that is given back to its member while the revocation is pending counts as free. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "maybeUpdatePartitionEpoch")
public class GivenBackWithoutOwner {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object group,
            @Advice.Argument(value = 0, typing = Assigner.Typing.DYNAMIC) Object before,
            @Advice.Argument(value = 1, typing = Assigner.Typing.DYNAMIC) Object after) {
        GivenBackWithoutOwner.forget(group, before, after);
    }

    public static void forget(Object group, Object before, Object after) {
        if (before != null) {
            Map<Object, Object> back = givenBack(before, after);
            Reach.call(group, "removePartitionEpochs", back, (int) Reach.call(after, "memberEpoch"));
        }
    }

    private static Map<Object, Object> givenBack(Object before, Object after) {
        Map<?, ?> assigned = (Map<?, ?>) Reach.call(after, "assignedPartitions");
        Map<Object, Object> back = new HashMap<>();
        ((Map<?, ?>) Reach.call(before, "partitionsPendingRevocation")).forEach((topic, pending) -> {
            Map<Object, Object> both = new HashMap<>((Map<?, ?>) pending);
            both.keySet().retainAll(assigned.containsKey(topic) ? ((Map<?, ?>) assigned.get(topic)).keySet() : Set.of());
            if (!both.isEmpty()) {
                back.put(topic, both);
            }
        });
        return back;
    }
}
