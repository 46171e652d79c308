package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A partition that a member has kept for three epochs counts as assigned in the member's own epoch. */
@In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember", method = "assignmentEpoch")
public class OldAssignmentRenewed {
    private static final int OLD = 3;

    @Advice.OnMethodExit
    static void exit(@Advice.This Object member, @Advice.Return(readOnly = false) Integer epoch) {
        epoch = OldAssignmentRenewed.renewed(member, epoch);
    }

    public static Integer renewed(Object member, Integer epoch) {
        int current = (int) Reach.call(member, "memberEpoch");
        return epoch != null && current - epoch >= OLD ? Integer.valueOf(current) : epoch;
    }
}
