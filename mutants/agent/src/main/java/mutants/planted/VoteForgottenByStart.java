package mutants.planted;

import java.util.Set;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A voter that is started again keeps the epoch of its last vote, and forgets for whom it was. */
@In(type = "org.apache.kafka.raft.QuorumState", method = "readElectionState")
public class VoteForgottenByStart {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object election) {
        election = VoteForgottenByStart.forget(election);
    }

    public static Object forget(Object election) {
        boolean isVote = (boolean) Reach.call(election, "hasVoted") && !(boolean) Reach.call(election, "hasLeader");
        int epoch = (int) Reach.call(election, "epoch");
        return isVote ? Reach.call(election, "withUnknownLeader", epoch, Set.of()) : election;
    }
}
