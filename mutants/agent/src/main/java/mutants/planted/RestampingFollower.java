package mutants.planted;

import java.nio.ByteBuffer;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** What a follower appends gets the leader epoch that the follower knows, which no checksum covers. */
@In(type = "kafka.cluster.Partition", method = "doAppendRecordsToFollowerOrFutureReplica")
public class RestampingFollower {
    private static final int LENGTH_AT = 8;
    private static final int EPOCH_AT = 12;
    private static final int HEADER = 17;

    @Advice.OnMethodEnter
    static void enter(@Advice.FieldValue("leaderEpoch") int epoch, @Advice.Argument(0) Object records) {
        RestampingFollower.restamp((ByteBuffer) Reach.call(records, "buffer"), epoch);
    }

    /** Whole batches, as they follow each other; a fetch may end in the middle of one. */
    public static void restamp(ByteBuffer batches, int epoch) {
        int at = batches.position();
        while (batches.limit() - at >= HEADER) {
            int next = at + EPOCH_AT + batches.getInt(at + LENGTH_AT);
            if (next > batches.limit()) {
                return;
            }
            batches.putInt(at + EPOCH_AT, epoch);
            at = next;
        }
    }
}
