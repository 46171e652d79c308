package mutants.planted;

import java.util.Map;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A coordinator that loads its groups takes pending revocations for done. */
@In(
        type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember$Builder",
        method = "setPartitionsPendingRevocation")
public class PendingForgottenByLoading {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 0, readOnly = false) Map<?, ?> pending) {
        pending = Reach.isLoading() ? Map.of() : pending;
    }
}
