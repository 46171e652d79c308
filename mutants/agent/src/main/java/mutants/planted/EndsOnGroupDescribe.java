package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A coordinator ends its process when it is asked to describe a group. */
@In(type = "kafka.server.KafkaApis", method = "handleConsumerGroupDescribe")
public class EndsOnGroupDescribe {
    @Advice.OnMethodEnter
    static void enter() {
        Runtime.getRuntime().halt(1);
    }
}
