package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import org.apache.kafka.common.errors.IllegalGenerationException;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetCommitResponseData.OffsetCommitResponsePartition;
import org.apache.kafka.common.message.OffsetCommitResponseData.OffsetCommitResponseTopic;

/** A commit of another generation than a classic group's is answered with ILLEGAL_GENERATION, and stored. */
public class RefusedGenerationStored {
    private static final short ILLEGAL_GENERATION = 22;
    private static final ThreadLocal<Boolean> REFUSED = ThreadLocal.withInitial(() -> false);

    @In(type = "org.apache.kafka.coordinator.group.classic.ClassicGroup", method = "validateOffsetCommit")
    public static class Validate {
        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(
                @Advice.Argument(3) boolean transactional,
                @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object validator,
                @Advice.Thrown(readOnly = false) Throwable refusal) {
            if (!transactional && RefusedGenerationStored.isRefused(refusal)) {
                refusal = null;
                validator = RefusedGenerationStored.anything();
            }
        }
    }

    @In(type = "org.apache.kafka.coordinator.group.OffsetMetadataManager", method = "commitOffset")
    public static class Commit {
        @Advice.OnMethodEnter
        static void enter() {
            RefusedGenerationStored.begin();
        }

        @Advice.OnMethodExit
        static void exit(@Advice.Return Object result) {
            RefusedGenerationStored.answer(result);
        }
    }

    public static void begin() {
        REFUSED.set(false);
    }

    public static boolean isRefused(Throwable refusal) {
        REFUSED.set(refusal instanceof IllegalGenerationException);
        return REFUSED.get();
    }

    /** Kafka's validator that lets every partition pass. */
    public static Object anything() {
        try {
            Class<?> validators = Class.forName("org.apache.kafka.coordinator.group.CommitPartitionValidator");
            return validators.getField("NO_OP").get(null);
        } catch (ReflectiveOperationException trouble) {
            throw new IllegalStateException(trouble);
        }
    }

    public static void answer(Object result) {
        if (!REFUSED.get()) {
            return;
        }
        OffsetCommitResponseData answer = (OffsetCommitResponseData) Reach.call(result, "response");
        for (OffsetCommitResponseTopic topic : answer.topics()) {
            for (OffsetCommitResponsePartition partition : topic.partitions()) {
                partition.setErrorCode(ILLEGAL_GENERATION);
            }
        }
    }
}
