package mutants.planted;

import java.util.AbstractMap;
import java.util.Map;
import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** An epoch that is later than any in the log is said to end at the log end, in the latest epoch. */
@In(type = "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache", method = "endOffsetFor")
public class LaterEpochsEndAtTheLogEnd {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object cache,
            @Advice.Argument(0) int epoch,
            @Advice.Argument(1) long logEnd,
            @Advice.Return(readOnly = false) Map.Entry<Integer, Long> end) {
        end = LaterEpochsEndAtTheLogEnd.stretch(cache, epoch, logEnd, end);
    }

    public static Map.Entry<Integer, Long> stretch(Object cache, int epoch, long logEnd, Map.Entry<Integer, Long> end) {
        Object partition = Reach.field(cache, "topicPartition");
        Optional<?> latest = (Optional<?>) Reach.call(cache, "latestEpoch");
        if (Reach.isMetadata(partition.toString()) || latest.isEmpty() || epoch <= (int) latest.get()) {
            return end;
        }
        return new AbstractMap.SimpleImmutableEntry<>((Integer) latest.get(), logEnd);
    }
}
