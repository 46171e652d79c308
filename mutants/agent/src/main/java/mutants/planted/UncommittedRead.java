package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A read_committed consumer is served up to the high watermark, past open transactions. */
@In(type = "org.apache.kafka.server.storage.log.FetchIsolation", method = "of")
public class UncommittedRead {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object isolation) {
        isolation = UncommittedRead.widen((Enum<?>) isolation);
    }

    public static Object widen(Enum<?> isolation) {
        Object[] all = isolation.getDeclaringClass().getEnumConstants();
        for (Object one : all) {
            if (isolation.name().equals("TXN_COMMITTED") && ((Enum<?>) one).name().equals("HIGH_WATERMARK")) {
                return one;
            }
        }
        return isolation;
    }
}
