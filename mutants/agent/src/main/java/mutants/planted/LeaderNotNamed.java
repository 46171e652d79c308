package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.VoteResponseData;

/** A controller that refuses a Vote of an older epoch does not name the leader that it knows. */
@In(type = "org.apache.kafka.raft.KafkaRaftClient", method = "handleVoteRequest")
public class LeaderNotNamed {
    private static final short FENCED_LEADER_EPOCH = 74;

    @Advice.OnMethodExit
    static void exit(@Advice.Return VoteResponseData answer) {
        LeaderNotNamed.forget(answer);
    }

    public static void forget(VoteResponseData answer) {
        for (VoteResponseData.TopicData topic : answer.topics()) {
            for (VoteResponseData.PartitionData partition : topic.partitions()) {
                partition.setLeaderId(partition.errorCode() == FENCED_LEADER_EPOCH ? -1 : partition.leaderId());
            }
        }
    }
}
