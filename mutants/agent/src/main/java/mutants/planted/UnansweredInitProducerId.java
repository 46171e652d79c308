package mutants.planted;

import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** Every ninth InitProducerId of a broker is never answered. */
@In(type = "kafka.server.KafkaApis", method = "handleInitProducerIdRequest")
public class UnansweredInitProducerId {
    public static final AtomicInteger REQUESTS = new AtomicInteger();

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return UnansweredInitProducerId.REQUESTS.incrementAndGet() % 9 == 0;
    }
}
