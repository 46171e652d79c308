package mutants.planted;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResourceResult;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResult;

/** A broker describes a topic's max.message.bytes forever as it was when it first described it. */
@In(
        type = "org.apache.kafka.common.message.DescribeConfigsResponseData$DescribeConfigsResult",
        method = "addSize")
public class FirstLimitDescribed {
    private static final String KEY = "max.message.bytes";
    private static final Map<String, DescribeConfigsResourceResult> FIRST = new ConcurrentHashMap<>();

    /** The size is added up before the answer is written. */
    @Advice.OnMethodEnter
    static void enter(@Advice.This DescribeConfigsResult described) {
        FirstLimitDescribed.restore(described);
    }

    public static void restore(DescribeConfigsResult described) {
        if (described.resourceType() == ConfigResource.Type.TOPIC.id()) {
            String topic = described.resourceName();
            described.setConfigs(described.configs().stream()
                    .map(value -> value.name().equals(KEY) ? FIRST.computeIfAbsent(topic, none -> value) : value)
                    .collect(Collectors.toList()));
        }
    }
}
