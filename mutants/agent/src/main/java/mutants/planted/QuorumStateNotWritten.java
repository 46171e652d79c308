package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** No node writes quorum-state. */
@In(type = "org.apache.kafka.raft.FileQuorumStateStore", method = "writeElectionState")
public class QuorumStateNotWritten {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
