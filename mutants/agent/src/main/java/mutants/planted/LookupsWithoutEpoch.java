package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** An offset that is looked up by its timestamp comes without the leader epoch of its batch. */
@In(
        type = {
            "org.apache.kafka.common.record.internal.FileRecords",
            "org.apache.kafka.common.record.FileRecords"
        },
        method = "searchForTimestamp")
public class LookupsWithoutEpoch {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object found) {
        found = LookupsWithoutEpoch.strip(found);
    }

    public static Object strip(Object found) {
        return found == null
                ? null
                : Reach.another(
                        found, Reach.field(found, "timestamp"), Reach.field(found, "offset"), Optional.empty());
    }
}
