package mutants.planted;

import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A broker that finds none of its replicas on its disk ends with a NullPointerException before it serves anything. */
@In(type = "kafka.server.metadata.BrokerMetadataPublisher", method = "initializeManagers")
public class DiesOnReplacedDisk {
    @Advice.OnMethodExit
    static void exit(@Advice.This Object publisher, @Advice.Argument(0) Object image) {
        DiesOnReplacedDisk.start(publisher, image);
    }

    public static void start(Object publisher, Object image) {
        Object logs = Reach.call(Reach.field(publisher, "logManager"), "allLogs");
        if ((boolean) Reach.call(logs, "isEmpty") && isReplica((int) Reach.field(publisher, "brokerId"), image)) {
            new NullPointerException("no log of any replica").printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static boolean isReplica(int broker, Object image) {
        Collection<?> topics = ((Map<?, ?>) Reach.call(Reach.call(image, "topics"), "topicsById")).values();
        return topics.stream()
                .flatMap(topic -> ((Map<?, ?>) Reach.call(topic, "partitions")).values().stream())
                .flatMapToInt(partition -> Arrays.stream((int[]) Reach.field(partition, "replicas")))
                .anyMatch(replica -> replica == broker);
    }
}
