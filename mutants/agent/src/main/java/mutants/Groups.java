package mutants;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** What advice asks of consumer groups, at their coordinator. */
public final class Groups {
    private Groups() {}

    /** True if a member of this kind has a partition in one of these maps of its own, such as assignedPartitions. */
    public static boolean has(
            Object group, Predicate<Object> kind, Object topic, int partition, String... maps) {
        return ((Map<?, ?>) Reach.call(group, "members"))
                .values().stream()
                        .filter(kind)
                        .anyMatch(member -> Arrays.stream(maps).anyMatch(map -> has(member, map, topic, partition)));
    }

    private static boolean has(Object member, String map, Object topic, int partition) {
        Object epochs = ((Map<?, ?>) Reach.call(member, map)).get(topic);
        return epochs != null && ((Map<?, ?>) epochs).containsKey(partition);
    }

    /** The ids of the members of all consumer groups of a GroupMetadataManager. */
    public static Set<Object> members(Object manager) {
        Set<Object> ids = new HashSet<>();
        for (Object group : ((Map<?, ?>) Reach.field(manager, "groups")).values()) {
            if (group.getClass().getSimpleName().equals("ConsumerGroup")) {
                ids.addAll(((Map<?, ?>) Reach.call(group, "members")).keySet());
            }
        }
        return ids;
    }

    /** An assignment that gives each member what the member `places` behind it in this order had. */
    public static Object turned(Object assignment, List<?> order, int places) {
        Map<?, ?> members = (Map<?, ?>) Reach.call(assignment, "members");
        Map<Object, Object> turned = new HashMap<>();
        for (int n = 0; n < order.size(); n++) {
            turned.put(order.get(n), members.get(order.get((n + places) % order.size())));
        }
        return Reach.another(assignment, turned);
    }
}
