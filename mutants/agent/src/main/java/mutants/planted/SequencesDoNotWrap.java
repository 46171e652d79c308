package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** After the largest sequence number a leader refuses the producer's next batch. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "inSequence")
public class SequencesDoNotWrap {
    @Advice.OnMethodExit
    static void exit(@Advice.Argument(0) int last, @Advice.Return(readOnly = false) boolean inSequence) {
        inSequence = inSequence && last != Integer.MAX_VALUE;
    }
}
