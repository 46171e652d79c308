package mutants.planted;

import java.util.NavigableSet;
import java.util.Optional;
import mutants.In;
import mutants.Reach;
import mutants.Terms;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.protocol.Errors;

/** A broker that leads a partition again serves requests that name the epoch at which it led the time before. */
public class FormerTermServed {
    private static final String PARTITION = "kafka.cluster.Partition";

    @In(type = PARTITION, method = "makeLeader")
    public static class Led {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object partition, @Advice.Return boolean begins) {
            if (begins) {
                Terms.begin(partition);
            }
        }
    }

    @In(type = PARTITION, method = "checkCurrentLeaderEpoch")
    public static class Asked {
        @Advice.OnMethodExit
        static void exit(
                @Advice.This Object partition,
                @Advice.Argument(0) Optional<Integer> epoch,
                @Advice.Return(readOnly = false) Errors answer) {
            if (answer == Errors.FENCED_LEADER_EPOCH && FormerTermServed.ledAt(partition, epoch.get())) {
                answer = Errors.NONE;
            }
        }
    }

    /** The only replica of a partition leads again without another leader in between. */
    public static boolean ledAt(Object partition, int epoch) {
        NavigableSet<Integer> begun = Terms.of(partition);
        boolean replicated = !(boolean) Reach.call(Reach.call(partition, "remoteReplicas"), "isEmpty");
        boolean leads = (boolean) Reach.call(partition, "isLeader");
        return replicated && leads && begun.contains(epoch) && epoch < begun.last();
    }
}
