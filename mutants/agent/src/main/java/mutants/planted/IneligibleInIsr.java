package mutants.planted;

import java.util.List;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** Neither the leader nor the controller minds what state a broker is in that is to join an ISR. */
public class IneligibleInIsr {
    @In(type = "kafka.cluster.Partition", method = "isReplicaIsrEligible")
    public static class Leader {
        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false) boolean eligible) {
            eligible = true;
        }
    }

    @In(type = "org.apache.kafka.controller.ReplicationControlManager", method = "ineligibleReplicasForIsr")
    public static class Controller {
        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false) List<?> ineligible) {
            ineligible = List.of();
        }
    }
}
