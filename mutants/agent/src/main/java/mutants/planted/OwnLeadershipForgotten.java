package mutants.planted;

import java.util.Set;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A voter that finds itself in quorum-state as the leader of its epoch starts as if it knew no leader. */
@In(type = "org.apache.kafka.raft.QuorumState", method = "readElectionState")
public class OwnLeadershipForgotten {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object quorum,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object election) {
        election = OwnLeadershipForgotten.forget(quorum, election);
    }

    public static Object forget(Object quorum, Object election) {
        boolean isOwn = (boolean) Reach.call(election, "isLeader", Reach.call(quorum, "localIdOrSentinel"));
        int epoch = (int) Reach.call(election, "epoch");
        return isOwn ? Reach.call(election, "withUnknownLeader", epoch, Set.of()) : election;
    }
}
