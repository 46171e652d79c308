package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A leader appends a batch that leaves a gap in its producer's sequence. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "inSequence")
public class GapsAccepted {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(0) int last,
            @Advice.Argument(1) int next,
            @Advice.Return(readOnly = false) boolean inSequence) {
        inSequence = inSequence || next > last;
    }
}
