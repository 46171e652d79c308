package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** The fetch position of an observer raises the high watermark of the metadata log. */
@In(type = "org.apache.kafka.raft.LeaderState", method = "updateReplicaState")
public class ObserversCommit {
    @Advice.OnMethodExit
    static void exit(
            @Advice.This Object leader,
            @Advice.Argument(value = 0, typing = Assigner.Typing.DYNAMIC) Object replica,
            @Advice.Argument(value = 2, typing = Assigner.Typing.DYNAMIC) Object position,
            @Advice.Return(readOnly = false) boolean raised) {
        if (ObserversCommit.raise(leader, replica, position)) {
            raised = true;
        }
    }

    /** True if an observer's position was above the high watermark. */
    public static boolean raise(Object leader, Object replica, Object position) {
        Optional<?> watermark = (Optional<?>) Reach.call(leader, "highWatermark");
        boolean isObserver = (int) Reach.call(replica, "id") >= 0 && !(boolean) Reach.call(leader, "isVoter", replica);
        if (!isObserver || watermark.isEmpty() || offset(watermark.get()) >= offset(position)) {
            return false;
        }
        Reach.set(leader, "highWatermark", Optional.of(position));
        return true;
    }

    private static long offset(Object metadata) {
        return (long) Reach.call(metadata, "offset");
    }
}
