package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.VoteRequestData;
import org.apache.kafka.common.message.VoteResponseData;

/** A voter that has not voted in its epoch votes for the candidate whose pre-vote it grants. */
@In(type = "org.apache.kafka.raft.KafkaRaftClient", method = "handleVoteRequest")
public class PreVoteUsesTheVote {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object client, @Advice.Argument(0) Object inbound, @Advice.Return VoteResponseData answer) {
        PreVoteUsesTheVote.use(client, (VoteRequestData) Reach.call(inbound, "data"), answer);
    }

    public static void use(Object client, VoteRequestData request, VoteResponseData answer) {
        if (answer.topics().isEmpty() || !answer.topics().get(0).partitions().get(0).voteGranted()) {
            return;
        }
        Object asked = request.topics().get(0).partitions().get(0);
        Object quorum = Reach.call(client, "quorum");
        if ((boolean) Reach.call(asked, "preVote") && (boolean) Reach.call(quorum, "isUnattachedNotVoted")) {
            Uuid directory = (Uuid) Reach.call(asked, "replicaDirectoryId");
            Optional<Uuid> known = Optional.of(directory).filter(id -> !id.equals(Uuid.ZERO_UUID));
            Object own = Reach.call(quorum, "localReplicaKeyOrThrow");
            Object candidate = Reach.another(own, Reach.call(asked, "replicaId"), known);
            Reach.call(quorum, "unattachedAddVotedState", Reach.call(asked, "replicaEpoch"), candidate);
        }
    }
}
