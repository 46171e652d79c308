package mutants.planted;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** While some partition has no replica that can lead, no other partition that loses its leader gets one. */
@In(type = "org.apache.kafka.controller.PartitionChangeBuilder", method = "electLeader")
public class LeaderlessPartitionBlocksElections {
    private static final int NONE = -1;
    private static final Set<String> WAITING = ConcurrentHashMap.newKeySet();

    @Advice.OnMethodExit
    static void exit(
            @Advice.FieldValue("partition") Object partition,
            @Advice.FieldValue("topicId") Object topic,
            @Advice.FieldValue("partitionId") int index,
            @Advice.FieldValue("targetIsr") List<?> isr,
            @Advice.Return Object elected) {
        LeaderlessPartitionBlocksElections.withhold(partition, topic + "-" + index, isr, elected);
    }

    /** A partition that is without a leader already gets one with the next broker that returns. */
    public static void withhold(Object partition, String name, List<?> isr, Object elected) {
        if ((int) Reach.field(elected, "node") == NONE) {
            WAITING.add(name);
            return;
        }
        WAITING.remove(name);
        int leader = (int) Reach.field(partition, "leader");
        if (leader != NONE && !isr.contains(leader) && !WAITING.isEmpty()) {
            Reach.set(elected, "node", NONE);
        }
    }
}
