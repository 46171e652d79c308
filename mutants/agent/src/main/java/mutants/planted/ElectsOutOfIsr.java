package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** The controller takes unclean.leader.election.enable for true everywhere. */
@In(
        type = "org.apache.kafka.controller.ConfigurationControlManager",
        method = "uncleanLeaderElectionEnabledForTopic")
public class ElectsOutOfIsr {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean enabled) {
        enabled = true;
    }
}
