package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A voter takes the log of each candidate for as up to date as its own. */
@In(type = "org.apache.kafka.raft.QuorumState", method = "canGrantVote")
public class LogsNotCompared {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 1, readOnly = false) boolean isLogUpToDate) {
        isLogUpToDate = true;
    }
}
