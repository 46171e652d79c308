package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.FetchRequestData;

/** The leader of the quorum answers each fetch at once, whether or not it has anything to send. */
@In(type = "org.apache.kafka.raft.KafkaRaftClient", method = "handleFetchRequest")
public class FetchesNotDelayed {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(0) Object inbound) {
        ((FetchRequestData) Reach.call(inbound, "data")).setMaxWaitMs(0);
    }
}
