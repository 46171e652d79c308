package mutants.planted;

import java.util.Map;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A static member that leaves to return keeps the partitions that it had to revoke. */
@In(
        type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember$Builder",
        method = "setPartitionsPendingRevocation")
public class DepartedMemberKeepsPending {
    @Advice.OnMethodEnter
    static void enter(@Advice.This Object member, @Advice.Argument(value = 0, readOnly = false) Map<?, ?> pending) {
        pending = DepartedMemberKeepsPending.kept(member, pending);
    }

    public static Map<?, ?> kept(Object member, Map<?, ?> pending) {
        boolean left = (int) Reach.field(member, "memberEpoch") == -2;
        return left ? (Map<?, ?>) Reach.field(member, "partitionsPendingRevocation") : pending;
    }
}
