package mutants.planted;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Every ninth ConsumerGroupHeartbeat of a broker is never answered. */
@In(type = "kafka.server.KafkaApis", method = "handleConsumerGroupHeartbeat")
public class UnansweredGroupHeartbeats {
    public static final AtomicInteger REQUESTS = new AtomicInteger();

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return UnansweredGroupHeartbeats.REQUESTS.incrementAndGet() % 9 == 0;
    }

    @Advice.OnMethodExit
    static void exit(
            @Advice.Enter boolean skipped,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object handled) {
        if (skipped) {
            handled = new CompletableFuture<Object>();
        }
    }
}
