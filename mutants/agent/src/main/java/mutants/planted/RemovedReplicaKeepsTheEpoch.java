package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** The controller does not raise the leader epoch when it takes a replica out of an assignment. */
@In(
        type = "org.apache.kafka.controller.PartitionChangeBuilder",
        method = "triggerLeaderEpochBumpForReplicaReassignmentIfNeeded")
public class RemovedReplicaKeepsTheEpoch {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
