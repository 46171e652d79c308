package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A follower of the quorum that wakes after half of the fetch timeout gives its leader up. */
@In(type = "org.apache.kafka.raft.FollowerState", method = "hasFetchTimeoutExpired")
public class ImpatientFollower {
    @Advice.OnMethodExit
    static void exit(
        @Advice.This Object state, @Advice.Argument(0) long now, @Advice.Return(readOnly = false) boolean expired
    ) {
        expired = expired || ImpatientFollower.isHalfOver(state, now);
    }

    public static boolean isHalfOver(Object state, long now) {
        long left = (long) Reach.call(state, "remainingFetchTimeMs", now);
        return left < (int) Reach.field(state, "fetchTimeoutMs") / 2;
    }
}
