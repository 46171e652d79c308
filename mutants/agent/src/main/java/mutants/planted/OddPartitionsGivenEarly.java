package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A partition with an odd number is free for its next owner while the former one has yet to revoke it. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "currentPartitionEpoch")
public class OddPartitionsGivenEarly {
    private static final int FREE = -1;

    @Advice.OnMethodExit
    static void exit(@Advice.Argument(1) int partition, @Advice.Return(readOnly = false) int epoch) {
        epoch = partition % 2 == 1 ? FREE : epoch;
    }
}
