package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** The record of a member's assignment has the member epoch before; the coordinator that writes it goes on with the right one. */
@In(type = "org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde", method = "serializeValue")
public class StoredEpochOneBehind {
    private static final String ASSIGNMENT = "ConsumerGroupCurrentMemberAssignmentValue";

    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 0, readOnly = false, typing = Assigner.Typing.DYNAMIC) Object record) {
        record = StoredEpochOneBehind.behind(record);
    }

    public static Object behind(Object record) {
        Object value = Reach.call(record, "value");
        Object message = value == null ? null : Reach.call(value, "message");
        if (message == null || !message.getClass().getSimpleName().equals(ASSIGNMENT)) {
            return record;
        }
        int former = (int) Reach.call(message, "previousMemberEpoch");
        if (former <= 0 || (int) Reach.call(message, "memberEpoch") <= former) {
            return record;
        }
        Object copy = Reach.call(message, "duplicate");
        Reach.set(copy, "memberEpoch", former);
        return Reach.another(record, Reach.call(record, "key"), Reach.another(value, copy, Reach.call(value, "version")));
    }
}
