package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A member of a Streams group may commit at its epoch only. */
@In(type = "org.apache.kafka.coordinator.group.streams.StreamsGroup", method = "createAssignmentEpochValidator")
public class StreamsTasksJudgedStrictly {
    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void exit(@Advice.Argument(1) int epoch, @Advice.Thrown(readOnly = false) Throwable refusal) {
        refusal = Reach.error("StaleMemberEpochException", "planted: the member epoch is not " + epoch);
    }
}
