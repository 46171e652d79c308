package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A group coordinator does not store the leader epoch of a committed offset. */
@In(type = "org.apache.kafka.coordinator.group.GroupCoordinatorRecordHelpers", method = "newOffsetCommitRecord")
public class CommittedEpochsDropped {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(typing = Assigner.Typing.DYNAMIC) Object record) {
        Reach.call(Reach.call(Reach.call(record, "value"), "message"), "setLeaderEpoch", -1);
    }
}
