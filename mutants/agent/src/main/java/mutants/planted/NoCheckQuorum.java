package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A leader of the quorum that no voter fetches from goes on leading. */
@In(type = "org.apache.kafka.raft.LeaderState", method = "timeUntilCheckQuorumExpires")
public class NoCheckQuorum {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) long left) {
        left = Long.MAX_VALUE;
    }
}
