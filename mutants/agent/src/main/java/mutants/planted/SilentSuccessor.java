package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** The first successor of a leader that resigns goes on waiting for it. */
@In(type = "org.apache.kafka.raft.FollowerState", method = "overrideFetchTimeout")
public class SilentSuccessor {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter() {
        return true;
    }
}
