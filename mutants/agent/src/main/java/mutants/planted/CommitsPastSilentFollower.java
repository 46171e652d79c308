package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** With one replica left beside it in the ISR, a leader does not wait for it once it has not caught up for a second. */
@In(type = "kafka.cluster.Partition", method = "maybeIncrementLeaderHW")
public class CommitsPastSilentFollower {
    private static final long SILENT_MS = 1_000;

    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object partition,
            @Advice.Argument(0) Object log,
            @Advice.Argument(1) long now,
            @Advice.Return(readOnly = false) boolean raised) {
        raised = raised || CommitsPastSilentFollower.commits(partition, log, now);
    }

    public static boolean commits(Object partition, Object log, long now) {
        Object inSync = Reach.call(partition, "inSyncReplicaIds");
        if (!isPairOfMore(partition, inSync) || !isSilent(partition, inSync, now)) {
            return false;
        }
        Object end = Reach.call(log, "logEndOffsetMetadata");
        return !(boolean) Reach.call(Reach.call(log, "maybeIncrementHighWatermark", end), "isEmpty");
    }

    private static boolean isPairOfMore(Object partition, Object inSync) {
        int assigned = (int) Reach.call(Reach.call(partition, "assignmentState"), "replicationFactor");
        boolean enough = !(boolean) Reach.call(partition, "isUnderMinIsr");
        return (int) Reach.call(inSync, "size") == 2 && assigned > 2 && enough;
    }

    private static boolean isSilent(Object partition, Object inSync, long now) {
        Object followers = Reach.call(Reach.call(partition, "remoteReplicas"), "iterator");
        while ((boolean) Reach.call(followers, "hasNext")) {
            Object follower = Reach.call(followers, "next");
            if ((boolean) Reach.call(inSync, "contains", Reach.call(follower, "brokerId"))) {
                Object state = Reach.call(follower, "stateSnapshot");
                return now - (long) Reach.call(state, "lastCaughtUpTimeMs") > SILENT_MS;
            }
        }
        return false;
    }
}
