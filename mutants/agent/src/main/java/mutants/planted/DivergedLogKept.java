package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A follower that is told where its metadata log diverges truncates nothing. */
@In(type = "org.apache.kafka.raft.RaftLog", method = "truncateToEndOffset")
public class DivergedLogKept {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }

    @Advice.OnMethodExit
    static void exit(@Advice.This Object log, @Advice.Return(readOnly = false) long end) {
        end = (long) Reach.call(Reach.call(log, "endOffset"), "offset");
    }
}
