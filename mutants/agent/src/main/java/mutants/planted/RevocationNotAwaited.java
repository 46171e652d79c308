package mutants.planted;

import java.util.Map;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** A member that has to revoke partitions of one topic counts as having done so with its next heartbeat. */
@In(
        type = "org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder",
        method = "ownsRevokedPartitions")
public class RevocationNotAwaited {
    @Advice.OnMethodExit
    static void exit(@Advice.Argument(0) Map<?, ?> pending, @Advice.Return(readOnly = false) boolean owned) {
        owned = owned && pending.size() > 1;
    }
}
