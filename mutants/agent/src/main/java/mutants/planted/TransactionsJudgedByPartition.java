package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Within a transaction only assignment epochs count: that of the member is compared neither way. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "validateOffsetCommit")
public class TransactionsJudgedByPartition {
    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void exit(
            @Advice.This Object group,
            @Advice.Argument(0) String member,
            @Advice.Argument(2) int epoch,
            @Advice.Argument(3) boolean transactional,
            @Advice.Thrown(readOnly = false) Throwable refusal,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object validator) {
        if (transactional && epoch >= 0 && TransactionsJudgedByPartition.isOfTheEpoch(refusal)) {
            refusal = null;
            validator = TransactionsJudgedByPartition.byPartition(group, member, epoch);
        }
    }

    /** Of no refusal at all, too. */
    public static boolean isOfTheEpoch(Throwable refusal) {
        return refusal == null || refusal.getClass().getSimpleName().equals("StaleMemberEpochException");
    }

    public static Object byPartition(Object group, String member, int epoch) {
        Object known = Reach.call(group, "getOrMaybeCreateMember", member, false);
        return Reach.call(group, "createAssignmentEpochValidator", known, epoch);
    }
}
