package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A voter takes a request that is meant for another voter, or for another directory of its own, as one for itself. */
@In(type = "org.apache.kafka.raft.KafkaRaftClient", method = "isValidVoterKey")
public class MisaddressedVotesTaken {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean valid) {
        valid = true;
    }
}
