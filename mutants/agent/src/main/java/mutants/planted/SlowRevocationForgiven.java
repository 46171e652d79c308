package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A member that keeps a partition beyond its rebalance timeout stays in the group. */
@In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "scheduleConsumerGroupRebalanceTimeout")
public class SlowRevocationForgiven {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
