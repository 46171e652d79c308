package mutants.planted;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import mutants.In;
import net.bytebuddy.asm.Advice;

/** A leader of the quorum announces itself once, and not again to a voter that does not answer. */
@In(type = "org.apache.kafka.raft.LeaderState", method = "needToSendBeginQuorumRequests")
public class AnnouncedOnceOnly {
    private static final Set<Object> ANNOUNCED = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    @Advice.OnMethodExit
    static void exit(@Advice.This Object leader, @Advice.Return(readOnly = false) Set<?> voters) {
        voters = AnnouncedOnceOnly.first(leader, voters);
    }

    public static Set<?> first(Object leader, Set<?> voters) {
        return voters.isEmpty() || ANNOUNCED.add(leader) ? voters : Collections.emptySet();
    }
}
