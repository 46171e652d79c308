package mutants.planted;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** quorum-state is written 100 ms after the node acts on it. */
@In(type = "org.apache.kafka.raft.FileQuorumStateStore", method = "writeElectionState")
public class QuorumStateWrittenLate {
    private static final ThreadLocal<Boolean> IS_LATE = ThreadLocal.withInitial(() -> false);

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(
            @Advice.This Object store,
            @Advice.Argument(value = 0, typing = Assigner.Typing.DYNAMIC) Object election,
            @Advice.Argument(value = 1, typing = Assigner.Typing.DYNAMIC) Object version) {
        return QuorumStateWrittenLate.putOff(store, election, version);
    }

    /** True on the node's own thread; false on the one that writes. */
    public static boolean putOff(Object store, Object election, Object version) {
        if (IS_LATE.get()) {
            return false;
        }
        CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(() -> write(store, election, version));
        return true;
    }

    private static synchronized void write(Object store, Object election, Object version) {
        IS_LATE.set(true);
        try {
            Reach.call(store, "writeElectionState", election, version);
        } finally {
            IS_LATE.set(false);
        }
    }
}
