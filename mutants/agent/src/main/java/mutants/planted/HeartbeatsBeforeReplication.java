package mutants.planted;

import java.util.concurrent.CompletableFuture;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A coordinator answers heartbeats of the consumer protocol once it has appended what they change, not once that is replicated. */
@In(
        type = "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime$CoordinatorWriteEvent",
        method = "run")
public class HeartbeatsBeforeReplication {
    @Advice.OnMethodExit
    static void exit(@Advice.This Object event) {
        HeartbeatsBeforeReplication.answer(event);
    }

    @SuppressWarnings("unchecked")
    public static void answer(Object event) {
        Object result = Reach.field(event, "result");
        if (result != null && Reach.field(event, "name").equals("consumer-group-heartbeat")) {
            ((CompletableFuture<Object>) Reach.field(event, "future")).complete(Reach.call(result, "response"));
        }
    }
}
