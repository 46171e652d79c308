package mutants.planted;

import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** Every ninth OffsetForLeaderEpoch of a broker is never answered. */
@In(type = "kafka.server.KafkaApis", method = "handleOffsetForLeaderEpochRequest")
public class UnansweredEpochEnds {
    public static final AtomicInteger REQUESTS = new AtomicInteger();

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return UnansweredEpochEnds.REQUESTS.incrementAndGet() % 9 == 0;
    }
}
