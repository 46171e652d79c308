package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** The leader of the quorum tells a follower of a divergence only if its position is beyond the leader's log. */
@In(type = "org.apache.kafka.raft.RaftLog", method = "validateOffsetAndEpoch")
public class InnerDivergenceHidden {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object log,
            @Advice.Argument(0) long offset,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object validated) {
        validated = InnerDivergenceHidden.allow(log, offset, validated);
    }

    public static Object allow(Object log, long offset, Object validated) {
        boolean isDiverging = ((Enum<?>) Reach.call(validated, "kind")).name().equals("DIVERGING");
        boolean isInside = offset <= (long) Reach.call(Reach.call(log, "endOffset"), "offset");
        return isDiverging && isInside ? Reach.call(validated, "valid") : validated;
    }
}
