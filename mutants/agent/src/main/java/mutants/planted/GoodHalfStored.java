package mutants.planted;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetCommitResponseData.OffsetCommitResponsePartition;
import org.apache.kafka.common.message.OffsetCommitResponseData.OffsetCommitResponseTopic;

/** A commit at an older epoch that names a partition of the member and one that it lost is refused, and stored for the former. */
public class GoodHalfStored {
    private static final short STALE_MEMBER_EPOCH = 113;
    private static final ThreadLocal<Set<String>> REFUSED = ThreadLocal.withInitial(HashSet::new);

    @In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "createAssignmentEpochValidator")
    public static class Validator {
        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object validator) {
            validator = GoodHalfStored.noting(validator);
        }
    }

    @In(type = "org.apache.kafka.coordinator.group.OffsetMetadataManager", method = "commitOffset")
    public static class Commit {
        @Advice.OnMethodEnter
        static void enter() {
            GoodHalfStored.begin();
        }

        @Advice.OnMethodExit
        static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object result) {
            result = GoodHalfStored.refused(result);
        }
    }

    public static void begin() {
        REFUSED.get().clear();
    }

    /** A validator that notes the partitions which the original refuses, and lets all pass. */
    public static Object noting(Object original) {
        Class<?>[] type = original.getClass().getInterfaces();
        return Proxy.newProxyInstance(type[0].getClassLoader(), type, (proxy, method, arguments) -> {
            try {
                method.setAccessible(true);
                return method.invoke(original, arguments);
            } catch (InvocationTargetException refusal) {
                if (!refusal.getCause().getClass().getSimpleName().equals("StaleMemberEpochException")) {
                    throw refusal.getCause();
                }
                REFUSED.get().add(arguments[0] + "-" + arguments[2]);
                return null;
            }
        });
    }

    public static Object refused(Object result) {
        if (REFUSED.get().isEmpty()) {
            return result;
        }
        OffsetCommitResponseData answer = (OffsetCommitResponseData) Reach.call(result, "response");
        for (OffsetCommitResponseTopic topic : answer.topics()) {
            for (OffsetCommitResponsePartition partition : topic.partitions()) {
                partition.setErrorCode(STALE_MEMBER_EPOCH);
            }
        }
        ((List<?>) Reach.call(result, "records")).removeIf(GoodHalfStored::isRefused);
        return result;
    }

    private static boolean isRefused(Object record) {
        Object key = Reach.call(record, "key");
        return REFUSED.get().contains(Reach.call(key, "topic") + "-" + Reach.call(key, "partition"));
    }
}
