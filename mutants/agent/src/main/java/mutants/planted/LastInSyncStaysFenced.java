package mutants.planted;

import java.util.Iterator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A broker that comes back stays fenced if a partition without a leader waits for it alone. */
@In(type = "org.apache.kafka.controller.ReplicationControlManager", method = "handleBrokerUnfenced")
public class LastInSyncStaysFenced {
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.This Object control, @Advice.Argument(0) int broker) {
        return LastInSyncStaysFenced.isAwaited(control, broker);
    }

    public static boolean isAwaited(Object control, int broker) {
        Iterator<?> leaderless =
                (Iterator<?>) Reach.call(Reach.field(control, "brokersToIsrs"), "partitionsWithNoLeader");
        while (leaderless.hasNext()) {
            Object id = leaderless.next();
            Object partition = Reach.call(
                    control, "getPartition", Reach.call(id, "topicId"), Reach.call(id, "partitionId"));
            if (isOnlyElectable(partition, broker)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOnlyElectable(Object partition, int broker) {
        int[] electable = Stream.of("isr", "elr", "lastKnownElr")
                .flatMapToInt(name -> IntStream.of((int[]) Reach.field(partition, name)))
                .distinct()
                .toArray();
        return electable.length == 1 && electable[0] == broker;
    }
}
