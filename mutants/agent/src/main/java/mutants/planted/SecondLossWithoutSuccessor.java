package mutants.planted;

import java.util.List;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** When a leader is lost while another replica is out of the ISR, the partition gets none. */
@In(type = "org.apache.kafka.controller.PartitionChangeBuilder", method = "electLeader")
public class SecondLossWithoutSuccessor {
    private static final int NONE = -1;

    @Advice.OnMethodExit
    static void exit(
            @Advice.FieldValue("partition") Object partition,
            @Advice.FieldValue("targetIsr") List<?> isr,
            @Advice.Return Object elected) {
        SecondLossWithoutSuccessor.withhold(partition, isr, elected);
    }

    /** A leader that stays in the ISR is not lost, and a partition without one gets one as usual. */
    public static void withhold(Object partition, List<?> isr, Object elected) {
        int leader = (int) Reach.field(partition, "leader");
        int inSync = ((int[]) Reach.field(partition, "isr")).length;
        boolean lost = leader != NONE && !isr.contains(leader);
        if (lost && inSync < ((int[]) Reach.field(partition, "replicas")).length) {
            Reach.set(elected, "node", NONE);
        }
    }
}
