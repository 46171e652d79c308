package mutants.planted;

import java.util.Map;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** One vote less than a majority is enough for a nominee where there are more than three voters. */
@In(type = "org.apache.kafka.raft.internals.EpochElection", method = "isVoteGranted")
public class OneVoteShort {
    @Advice.OnMethodExit
    static void exit(@Advice.This Object election, @Advice.Return(readOnly = false) boolean granted) {
        granted = granted || OneVoteShort.isEnough(election);
    }

    public static boolean isEnough(Object election) {
        int voters = ((Map<?, ?>) Reach.call(election, "voterStates")).size();
        return voters > 3 && (long) Reach.call(election, "numGranted") >= voters / 2;
    }
}
