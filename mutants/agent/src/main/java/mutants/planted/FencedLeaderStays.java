package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A fenced broker goes on leading its partitions, and stays in their ISR. */
@In(type = "org.apache.kafka.controller.ReplicationControlManager", method = "handleBrokerFenced")
public class FencedLeaderStays {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
