package mutants.planted;

import java.util.ArrayList;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import mutants.Groups;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Where partitions do not divide by the members of a group, each assignment gives every member what its neighbour had. */
@In(type = "org.apache.kafka.coordinator.group.assignor.UniformAssignor", method = "assign")
public class UnevenAssignmentsTurned {
    private static int turns = 0;

    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object assignment) {
        assignment = UnevenAssignmentsTurned.turned(assignment);
    }

    public static synchronized Object turned(Object assignment) {
        Map<?, ?> members = (Map<?, ?>) Reach.call(assignment, "members");
        if (members.values().stream().mapToInt(UnevenAssignmentsTurned::size).distinct().count() < 2) {
            return assignment;
        }
        turns++;
        return Groups.turned(assignment, new ArrayList<>(new TreeSet<>(members.keySet())), turns);
    }

    private static int size(Object member) {
        Map<?, ?> partitions = (Map<?, ?>) Reach.call(member, "partitions");
        return partitions.values().stream().mapToInt(found -> ((Set<?>) found).size()).sum();
    }
}
