package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Groups do not notice that a topic has more partitions than before. */
@In(type = "org.apache.kafka.coordinator.group.Utils", method = "computeTopicHash")
public class GrowthUnnoticed {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(0) String topic,
            @Advice.Argument(value = 1, typing = Assigner.Typing.DYNAMIC) Object image,
            @Advice.Return(readOnly = false) long hash) {
        hash = GrowthUnnoticed.withoutCount(topic, image, hash);
    }

    public static long withoutCount(String topic, Object image, long hash) {
        Optional<?> known = (Optional<?>) Reach.call(image, "topicMetadata", topic);
        return known.isPresent() ? Reach.call(known.get(), "id").hashCode() | 1L : hash;
    }
}
