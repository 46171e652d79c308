package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A leader counts records of former epochs as committed once a majority has them, before one of its own epoch is. */
@In(type = "org.apache.kafka.raft.LeaderState", method = "maybeUpdateHighWatermark")
public class OlderEpochsCommitted {
    @Advice.OnMethodEnter
    static void enter(@Advice.This Object leader) {
        Reach.set(leader, "epochStartOffset", -1L);
    }
}
