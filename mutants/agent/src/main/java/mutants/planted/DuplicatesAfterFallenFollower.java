package mutants.planted;

import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** Once a follower came back with a shorter log than it had, the leader appends again what was appended before. */
public class DuplicatesAfterFallenFollower {
    private static final Set<Object> FALLEN = ConcurrentHashMap.newKeySet();

    /** Whether this thread appends to a partition with such a follower. */
    private static final ThreadLocal<Boolean> FORGETFUL = ThreadLocal.withInitial(() -> false);

    @In(type = "kafka.cluster.Partition", method = "updateFollowerFetchState")
    public static class Fetched {
        @Advice.OnMethodEnter
        static void enter(
                @Advice.This Object partition, @Advice.Argument(0) Object follower, @Advice.Argument(1) Object end) {
            DuplicatesAfterFallenFollower.compare(partition, follower, end);
        }
    }

    @In(type = "kafka.cluster.Partition", method = "appendRecordsToLeader")
    public static class Appended {
        @Advice.OnMethodEnter
        static void enter(@Advice.This Object partition) {
            DuplicatesAfterFallenFollower.begin(partition);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit() {
            DuplicatesAfterFallenFollower.end();
        }
    }

    @In(type = "org.apache.kafka.storage.internals.log.ProducerStateEntry", method = "findDuplicateBatch")
    public static class Looked {
        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false) Optional<?> found) {
            found = DuplicatesAfterFallenFollower.isForgetful() ? Optional.empty() : found;
        }
    }

    @In(type = "org.apache.kafka.storage.internals.log.ProducerAppendInfo", method = "checkSequence")
    public static class Checked {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(@Advice.This Object append, @Advice.Argument(1) int sequence) {
            return DuplicatesAfterFallenFollower.isForgetful()
                    && sequence <= (int) Reach.call(Reach.field(append, "currentEntry"), "lastSeq");
        }
    }

    public static void compare(Object partition, Object follower, Object end) {
        long before = (long) Reach.call(Reach.call(follower, "stateSnapshot"), "logEndOffset");
        if ((long) Reach.field(end, "messageOffset") < before) {
            FALLEN.add(Reach.call(partition, "topicPartition"));
        }
    }

    public static void begin(Object partition) {
        FORGETFUL.set(FALLEN.contains(Reach.call(partition, "topicPartition")));
    }

    public static void end() {
        FORGETFUL.remove();
    }

    public static boolean isForgetful() {
        return FORGETFUL.get();
    }
}
