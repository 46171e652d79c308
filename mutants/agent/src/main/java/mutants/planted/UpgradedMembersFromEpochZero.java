package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** The partitions of a classic member are assigned from epoch 0 on when its group is upgraded. */
@In(type = "org.apache.kafka.coordinator.group.Utils", method = "toAssignmentWithEpochs")
public class UpgradedMembersFromEpochZero {
    @Advice.OnMethodEnter
    static void enter(@Advice.Argument(value = 1, readOnly = false) int epoch) {
        epoch = 0;
    }
}
