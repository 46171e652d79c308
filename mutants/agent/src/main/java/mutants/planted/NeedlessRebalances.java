package mutants.planted;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import mutants.Groups;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/**
 * A group is assigned again when a member names its topics once more, and when any topic was created; a second assignment
 * for the same members gives each what its neighbour had.
 */
public class NeedlessRebalances {
    private static final String MANAGER = "org.apache.kafka.coordinator.group.GroupMetadataManager";
    private static final ThreadLocal<Boolean> NAMED = ThreadLocal.withInitial(() -> false);
    private static final Map<Object, Object> TOPICS = new ConcurrentHashMap<>();
    private static final Set<Object> ASSIGNED = ConcurrentHashMap.newKeySet();

    @In(type = MANAGER, method = "consumerGroupHeartbeat")
    public static class Asked {
        @Advice.OnMethodEnter
        static void enter(@Advice.AllArguments(typing = Assigner.Typing.DYNAMIC) Object[] arguments) {
            NeedlessRebalances.asked(arguments);
        }
    }

    @In(type = MANAGER, method = "hasMemberSubscriptionChanged")
    public static class Compared {
        @Advice.OnMethodExit
        static void exit(
                @Advice.This Object manager,
                @Advice.Argument(0) String group,
                @Advice.Return(readOnly = false) boolean changed) {
            changed = NeedlessRebalances.isReason(manager, group) || changed;
        }
    }

    @In(type = "org.apache.kafka.coordinator.group.assignor.UniformAssignor", method = "assign")
    public static class Assigned {
        @Advice.OnMethodExit
        static void exit(
                @Advice.Argument(value = 0, typing = Assigner.Typing.DYNAMIC) Object group,
                @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object assignment) {
            assignment = NeedlessRebalances.turned(group, assignment);
        }
    }

    /** Of the two methods of this name one has the request, and calls the other. */
    public static void asked(Object[] arguments) {
        if (arguments.length == 2) {
            NAMED.set(Reach.call(arguments[1], "subscribedTopicNames") != null);
        }
    }

    public static boolean isReason(Object manager, String group) {
        Object newest = Reach.field(manager, "lastMetadataImageWithNewTopics");
        Object known = TOPICS.put(group, newest);
        return NAMED.get() || known != null && !known.equals(newest);
    }

    public static Object turned(Object group, Object assignment) {
        Map<?, ?> members = (Map<?, ?>) Reach.call(assignment, "members");
        TreeMap<String, String> byName = new TreeMap<>();
        members.keySet().forEach(member -> byName.put(name(group, (String) member), (String) member));
        if (ASSIGNED.add(List.copyOf(byName.keySet()))) {
            return assignment;
        }
        List<String> order = new ArrayList<>(byName.values());
        return Groups.turned(assignment, order, 1);
    }

    /** The instance id of a static member, whose member id changes when it returns. */
    private static String name(Object group, String member) {
        Optional<?> instance = (Optional<?>) Reach.call(Reach.call(group, "memberSubscription", member), "instanceId");
        return instance.isPresent() ? (String) instance.get() : member;
    }
}
