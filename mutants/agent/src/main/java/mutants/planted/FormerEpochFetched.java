package mutants.planted;

import java.util.Optional;
import mutants.In;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import org.apache.kafka.common.protocol.Errors;

/** The leader of the quorum serves a request for its leader that names an older epoch. */
@In(type = "org.apache.kafka.raft.KafkaRaftClient", method = "validateLeaderOnlyRequest")
public class FormerEpochFetched {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object refusal) {
        if (refusal.equals(Optional.of(Errors.FENCED_LEADER_EPOCH))) {
            refusal = Optional.empty();
        }
    }
}
