package mutants.planted;

import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.DescribeQuorumResponseData;
import org.apache.kafka.common.message.DescribeQuorumResponseData.PartitionData;

/** Every fourth DescribeQuorum answer of a leader has a high watermark that is ten offsets too low. */
@In(type = "org.apache.kafka.raft.KafkaRaftClient", method = "handleDescribeQuorumRequest")
public class DescribedWatermarkFalls {
    private static final AtomicInteger ANSWERS = new AtomicInteger();

    @Advice.OnMethodExit
    static void exit(@Advice.Return DescribeQuorumResponseData answer) {
        DescribedWatermarkFalls.lower(answer);
    }

    public static void lower(DescribeQuorumResponseData answer) {
        if (ANSWERS.incrementAndGet() % 4 == 0 && !answer.topics().isEmpty()) {
            PartitionData partition = answer.topics().get(0).partitions().get(0);
            partition.setHighWatermark(Math.max(partition.highWatermark() - 10, -1));
        }
    }
}
