package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** As if min.insync.replicas were 1. */
@In(type = "kafka.cluster.Partition", method = "effectiveMinIsr")
public class MinIsrIgnored {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) int minIsr) {
        minIsr = 1;
    }
}
