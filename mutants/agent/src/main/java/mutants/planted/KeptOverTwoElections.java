package mutants.planted;

import mutants.In;
import mutants.Reach;
import mutants.Terms;
import net.bytebuddy.asm.Advice;

/** A former leader that comes back two or more epochs later keeps its uncommitted suffix. */
public class KeptOverTwoElections {
    @In(type = "kafka.cluster.Partition", method = "makeLeader")
    public static class Led {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object partition, @Advice.Return boolean begins) {
            if (begins) {
                Terms.begin(partition);
            }
        }
    }

    @In(type = "kafka.server.ReplicaFetcherThread", method = "truncate")
    public static class Follows {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(
                @Advice.FieldValue("replicaMgr") Object replicas,
                @Advice.Argument(0) Object partition,
                @Advice.Argument(1) Object truncation) {
            return KeptOverTwoElections.keeps(
                    Reach.call(replicas, "getPartitionOrException", partition), (long) Reach.call(truncation, "offset"));
        }
    }

    /** Only what it wrote itself in this process: after an unclean election it truncates below its high watermark. */
    public static boolean keeps(Object partition, long offset) {
        Object log = Reach.call(partition, "localLogOrException");
        Object latest = Reach.call(log, "latestEpoch");
        if ((boolean) Reach.call(latest, "isEmpty") || offset < (long) Reach.call(log, "highWatermark")) {
            return false;
        }
        int epoch = (int) Reach.call(latest, "get");
        return Terms.of(partition).contains(epoch) && Terms.epoch(partition) >= epoch + 2;
    }
}
