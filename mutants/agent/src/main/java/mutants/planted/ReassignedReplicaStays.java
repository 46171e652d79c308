package mutants.planted;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A replica that a reassignment has added is never removed from the ISR again. */
public class ReassignedReplicaStays {
    private static final Map<String, Set<Integer>> ADDED = new ConcurrentHashMap<>();

    @In(type = "org.apache.kafka.metadata.PartitionRegistration", method = "merge")
    public static class Reassigned {
        @Advice.OnMethodExit
        static void exit(@Advice.Argument(0) Object record) {
            ReassignedReplicaStays.remember(record);
        }
    }

    @In(type = "org.apache.kafka.controller.PartitionChangeBuilder", method = "setTargetIsr")
    public static class Shrunk {
        @Advice.OnMethodEnter
        static void enter(
                @Advice.FieldValue("topicId") Object topic,
                @Advice.FieldValue("partitionId") int partition,
                @Advice.FieldValue("partition") Object before,
                @Advice.Argument(value = 0, readOnly = false) List<Integer> isr) {
            isr = ReassignedReplicaStays.kept(topic + "-" + partition, before, isr);
        }
    }

    public static void remember(Object record) {
        List<?> adding = (List<?>) Reach.call(record, "addingReplicas");
        String partition = Reach.call(record, "topicId") + "-" + Reach.call(record, "partitionId");
        for (Object replica : adding == null ? List.of() : adding) {
            ADDED.computeIfAbsent(partition, none -> ConcurrentHashMap.newKeySet()).add((Integer) replica);
        }
    }

    public static List<Integer> kept(String partition, Object before, List<Integer> isr) {
        Set<Integer> added = ADDED.getOrDefault(partition, Set.of());
        List<Integer> kept = new ArrayList<>(isr);
        for (int replica : (int[]) Reach.field(before, "isr")) {
            if (added.contains(replica) && !kept.contains(replica)) {
                kept.add(replica);
            }
        }
        return kept;
    }
}
