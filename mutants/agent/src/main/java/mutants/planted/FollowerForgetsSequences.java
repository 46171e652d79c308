package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A follower takes no notice of an idempotent producer's sequences after its first batch. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "appendDataBatch")
public class FollowerForgetsSequences {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(
            @Advice.This Object append, @Advice.Argument(1) int firstSequence, @Advice.Argument(6) boolean transactional) {
        return !transactional && firstSequence > 0 && FollowerForgetsSequences.isReplicated(append);
    }

    public static boolean isReplicated(Object append) {
        return Reach.field(append, "origin").toString().equals("REPLICATION");
    }
}
