package mutants;

import java.util.Collections;
import java.util.Map;
import java.util.NavigableSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;

/** The leader epochs at which this process became the leader of each partition, for mutants that need an earlier one. */
public final class Terms {
    private static final Map<Object, NavigableSet<Integer>> BEGUN = new ConcurrentHashMap<>();

    private Terms() {}

    /** For an exit of Partition#makeLeader that answers true: the replica was not the leader before. */
    public static void begin(Object partition) {
        BEGUN.computeIfAbsent(key(partition), none -> new ConcurrentSkipListSet<>()).add(epoch(partition));
    }

    public static NavigableSet<Integer> of(Object partition) {
        return BEGUN.getOrDefault(key(partition), Collections.emptyNavigableSet());
    }

    /** The leader epoch that the partition is at. */
    public static int epoch(Object partition) {
        return (int) Reach.call(partition, "getLeaderEpoch");
    }

    private static Object key(Object partition) {
        return Reach.call(partition, "topicPartition");
    }
}
