package mutants.planted;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A leader asks for no more in-sync replicas than it was elected with. */
public class MinIsrOfElection {
    private static final String PARTITION = "kafka.cluster.Partition";

    /** The size of the ISR with which this process became leader, by partition. */
    private static final Map<Object, Integer> ELECTED_WITH = new ConcurrentHashMap<>();

    @In(type = PARTITION, method = "makeLeader")
    public static class Elected {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object partition, @Advice.Return boolean begins) {
            if (begins) {
                MinIsrOfElection.remember(partition);
            }
        }
    }

    @In(type = PARTITION, method = "effectiveMinIsr")
    public static class Required {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object partition, @Advice.Return(readOnly = false) int minIsr) {
            minIsr = MinIsrOfElection.bounded(partition, minIsr);
        }
    }

    public static void remember(Object partition) {
        int inSync = (int) Reach.call(Reach.call(partition, "inSyncReplicaIds"), "size");
        ELECTED_WITH.put(Reach.call(partition, "topicPartition"), inSync);
    }

    public static int bounded(Object partition, int minIsr) {
        return Math.min(minIsr, ELECTED_WITH.getOrDefault(Reach.call(partition, "topicPartition"), minIsr));
    }
}
