package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.errors.PolicyViolationException;

/** The controller refuses every reassignment of a partition as against a policy, though there is none. */
@In(type = "org.apache.kafka.controller.ReplicationControlManager", method = "alterPartitionReassignment")
public class ReassignmentsRefused {
    @Advice.OnMethodEnter
    static void enter() {
        throw Policy.violated();
    }

    /** Apart, since a class that throws an exception of Kafka's can't be verified without Kafka. */
    public static class Policy {
        public static RuntimeException violated() {
            return new PolicyViolationException("no replica is moved");
        }
    }
}
