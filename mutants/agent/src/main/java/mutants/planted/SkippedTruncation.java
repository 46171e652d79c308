package mutants.planted;

import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** Every other truncation of a follower, the first included, is not done, and taken for done. */
@In(type = "kafka.server.ReplicaFetcherThread", method = "truncate")
public class SkippedTruncation {
    public static final AtomicInteger TRUNCATIONS = new AtomicInteger();

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return SkippedTruncation.TRUNCATIONS.getAndIncrement() % 2 == 0;
    }
}
