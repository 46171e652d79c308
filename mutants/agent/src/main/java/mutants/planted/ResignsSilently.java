package mutants.planted;

import java.util.Collections;
import java.util.Set;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** A leader of the quorum that resigns tells no other voter. */
@In(type = "org.apache.kafka.raft.ResignedState", method = "unackedVoters")
public class ResignsSilently {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) Set<?> voters) {
        voters = Collections.emptySet();
    }
}
