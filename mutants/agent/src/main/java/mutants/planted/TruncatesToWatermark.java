package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** Before a new follower gets the offset that it begins to fetch at, its log is cut to its high watermark. */
@In(type = "kafka.server.ReplicaManager", method = "initialFetchOffset")
public class TruncatesToWatermark {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(0) Object log) {
        Reach.call(log, "truncateTo", Reach.call(log, "highWatermark"));
    }
}
