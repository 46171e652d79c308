package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A controller takes a request of the quorum that names another cluster for one of its own cluster. */
@In(type = "org.apache.kafka.raft.KafkaRaftClient", method = "hasValidClusterId")
public class ForeignClustersServed {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) boolean valid) {
        valid = true;
    }
}
