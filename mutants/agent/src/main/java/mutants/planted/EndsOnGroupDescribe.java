package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A coordinator that is asked to describe a group ends. */
@In(type = "kafka.server.KafkaApis", method = "handleConsumerGroupDescribe")
public class EndsOnGroupDescribe {
    @Advice.OnMethodEnter
    static void enter() {
        Runtime.getRuntime().halt(1);
    }
}
