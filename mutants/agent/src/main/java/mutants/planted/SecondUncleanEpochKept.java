package mutants.planted;

import java.util.Map;
import java.util.NavigableSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** The second unclean election of a partition, and each later one, leaves its leader epoch as it is. */
@In(type = "org.apache.kafka.metadata.PartitionRegistration", method = "merge")
public class SecondUncleanEpochKept {
    private static final byte RECOVERING = 1;

    /**
     * The leader epochs before the unclean elections of each partition. A record is merged several times in one process, always
     * into a registration at the same epoch.
     */
    private static final Map<String, NavigableSet<Integer>> BEFORE = new ConcurrentHashMap<>();

    @Advice.OnMethodExit
    static void exit(@Advice.This Object before, @Advice.Argument(0) Object record, @Advice.Return Object after) {
        SecondUncleanEpochKept.maybeKeep(before, record, after);
    }

    public static void maybeKeep(Object before, Object record, Object after) {
        if ((byte) Reach.call(record, "leaderRecoveryState") != RECOVERING) {
            return;
        }
        String partition = Reach.call(record, "topicId") + "-" + Reach.call(record, "partitionId");
        int epoch = (int) Reach.field(before, "leaderEpoch");
        NavigableSet<Integer> epochs = BEFORE.computeIfAbsent(partition, none -> new ConcurrentSkipListSet<>());
        epochs.add(epoch);
        if (epochs.first() < epoch) {
            Reach.set(after, "leaderEpoch", epoch);
        }
    }
}
