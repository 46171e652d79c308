package mutants.planted;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** A follower takes the last successor of a leader that resigns for the first one. */
@In(type = "org.apache.kafka.raft.KafkaRaftClient", method = "endEpochElectionBackoff")
public class SuccessorsReversed {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 0, readOnly = false) Collection<?> successors) {
        successors = SuccessorsReversed.reverse(successors);
    }

    public static Collection<?> reverse(Collection<?> successors) {
        List<?> reversed = new ArrayList<>(successors);
        Collections.reverse(reversed);
        return reversed;
    }
}
