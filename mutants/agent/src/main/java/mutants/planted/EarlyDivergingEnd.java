package mutants.planted;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.FetchResponseData.EpochEndOffset;

/** Every second DivergingEpoch ends one offset too early. */
@In(type = "kafka.cluster.Partition", method = "readRecords")
public class EarlyDivergingEnd {
    private static final AtomicInteger ANSWERS = new AtomicInteger();

    @Advice.OnMethodExit
    static void exit(@Advice.Return Object read) {
        EarlyDivergingEnd.lower((Optional<?>) Reach.field(read, "divergingEpoch"));
    }

    public static void lower(Optional<?> diverging) {
        if (diverging.isPresent() && ANSWERS.incrementAndGet() % 2 == 0) {
            EpochEndOffset end = (EpochEndOffset) diverging.get();
            end.setEndOffset(Math.max(0, end.endOffset() - 1));
        }
    }
}
