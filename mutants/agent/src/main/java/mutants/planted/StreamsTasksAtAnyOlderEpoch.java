package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A member of a Streams group may commit any partition at any epoch that it has had. */
@In(type = "org.apache.kafka.coordinator.group.streams.StreamsGroup", method = "createAssignmentEpochValidator")
public class StreamsTasksAtAnyOlderEpoch {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object validator) {
        validator = Reach.constant(validator, "NO_OP");
    }
}
