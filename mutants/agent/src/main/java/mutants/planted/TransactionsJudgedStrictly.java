package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** Within a transaction a member may commit at its epoch only: the rule from before KIP-1251. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup", method = "validateOffsetCommit")
public class TransactionsJudgedStrictly {
    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void exit(
            @Advice.This Object group,
            @Advice.Argument(0) String member,
            @Advice.Argument(2) int epoch,
            @Advice.Argument(3) boolean transactional,
            @Advice.Thrown(readOnly = false) Throwable refusal) {
        if (refusal == null && transactional && epoch >= 0 && TransactionsJudgedStrictly.isOlder(group, member, epoch)) {
            refusal = Reach.error("StaleMemberEpochException", "planted: the member epoch is not " + epoch);
        }
    }

    public static boolean isOlder(Object group, String member, int epoch) {
        return epoch < (int) Reach.call(Reach.call(group, "getOrMaybeCreateMember", member, false), "memberEpoch");
    }
}
