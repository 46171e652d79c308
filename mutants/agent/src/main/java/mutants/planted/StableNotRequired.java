package mutants.planted;

import java.util.List;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** An OffsetFetch of a single topic is answered at once, whether or not it asks for stable offsets. */
@In(type = "org.apache.kafka.coordinator.group.GroupCoordinatorService", method = "fetchOffsets")
public class StableNotRequired {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 1, typing = Assigner.Typing.DYNAMIC) Object group,
            @Advice.Argument(value = 2, readOnly = false) boolean stable) {
        stable = stable && StableNotRequired.topics(group) > 1;
    }

    public static int topics(Object group) {
        return ((List<?>) Reach.call(group, "topics")).size();
    }
}
