package mutants.planted;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** quorum-state is written 100 ms after the node acts on it. */
@In(type = "org.apache.kafka.raft.FileQuorumStateStore", method = "writeElectionState")
public class QuorumStateWrittenLate {
    private static final ThreadLocal<Boolean> IS_LATE = ThreadLocal.withInitial(() -> false);

    /** One thread, so that a write never overtakes an earlier one. */
    private static final ScheduledExecutorService WRITER = Executors.newSingleThreadScheduledExecutor(
            task -> {
                Thread thread = new Thread(task, "late-quorum-state");
                thread.setDaemon(true);
                return thread;
            });

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
        WRITER.schedule(() -> write(store, election, version), 100, TimeUnit.MILLISECONDS);
        return true;
    }

    private static void write(Object store, Object election, Object version) {
        IS_LATE.set(true);
        try {
            Reach.call(store, "writeElectionState", election, version);
        } finally {
            IS_LATE.set(false);
        }
    }
}
