package mutants.planted;

import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A topic that a regular expression once matched stays in it after the topic was deleted. */
@In(
        type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup",
        method = "updateResolvedRegularExpression")
public class ResolvedTopicsKept {
    @Advice.OnMethodEnter
    static void enter(
            @Advice.This Object group,
            @Advice.Argument(0) String regex,
            @Advice.Argument(value = 1, readOnly = false, typing = Assigner.Typing.DYNAMIC) Object resolved) {
        resolved = ResolvedTopicsKept.withFormer(group, regex, resolved);
    }

    public static Object withFormer(Object group, String regex, Object resolved) {
        Optional<?> former = (Optional<?>) Reach.call(group, "resolvedRegularExpression", regex);
        if (former.isEmpty() || resolved == null) {
            return resolved;
        }
        Set<Object> topics = new HashSet<>((Set<?>) Reach.call(former.get(), "topics"));
        topics.addAll((Set<?>) Reach.call(resolved, "topics"));
        long version = (long) Reach.call(resolved, "version");
        return Reach.another(resolved, topics, version, (long) Reach.call(resolved, "timestamp"));
    }
}
