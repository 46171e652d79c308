package mutants.planted;

import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import org.apache.kafka.common.protocol.Errors;

/** Every third time that a write would go on waiting for replicas, it is acknowledged. */
@In(type = "kafka.cluster.Partition", method = "checkEnoughReplicasReachOffset")
public class LoneAcknowledgement {
    private static final AtomicInteger WAITS = new AtomicInteger();

    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object answer) {
        answer = LoneAcknowledgement.hurried(answer);
    }

    /** The answer is a pair of whether it is enough, and an error. */
    public static Object hurried(Object answer) {
        boolean waits = Boolean.FALSE.equals(Reach.call(answer, "_1")) && Reach.call(answer, "_2") == Errors.NONE;
        boolean hurries = waits && WAITS.incrementAndGet() % 3 == 0;
        return hurries ? Reach.another(answer, Boolean.TRUE, Errors.NONE) : answer;
    }
}
