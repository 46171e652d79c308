package mutants.planted;

import java.util.Optional;
import mutants.In;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A voter that has voted in its epoch grants every other candidate a vote as well, and does not store it. */
@In(type = "org.apache.kafka.raft.QuorumState", method = "unattachedOrProspectiveCanGrantVote")
public class SecondVoteGranted {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.Argument(value = 1, readOnly = false, typing = Assigner.Typing.DYNAMIC) Object votedKey) {
        votedKey = Optional.empty();
    }
}
