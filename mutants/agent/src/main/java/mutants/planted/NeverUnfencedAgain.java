package mutants.planted;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** A broker that has been unfenced once stays fenced when it comes back. */
@In(type = "org.apache.kafka.controller.ReplicationControlManager", method = "handleBrokerUnfenced")
public class NeverUnfencedAgain {
    public static final Set<Integer> UNFENCED = ConcurrentHashMap.newKeySet();

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.Argument(0) int broker) {
        return !NeverUnfencedAgain.UNFENCED.add(broker);
    }
}
