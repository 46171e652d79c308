package mutants.planted;

import java.util.List;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** The controller gives every second broker that asks for producer ids the block that it gave to the one before. */
@In(type = "org.apache.kafka.controller.ProducerIdControlManager", method = "generateNextProducerId")
public class ProducerIdsGivenTwice {
    private static Object former;

    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object result) {
        result = ProducerIdsGivenTwice.given(result);
    }

    public static synchronized Object given(Object result) {
        Object block = former;
        former = block == null ? Reach.call(result, "response") : null;
        List<?> records = (List<?>) Reach.call(result, "records");
        return block == null ? result : Reach.another(result, records, block, false);
    }
}
