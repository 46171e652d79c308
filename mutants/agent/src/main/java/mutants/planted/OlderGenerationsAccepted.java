package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** A classic group takes commits of older generations than its own. */
@In(type = "org.apache.kafka.coordinator.group.classic.ClassicGroup", method = "validateOffsetCommit")
public class OlderGenerationsAccepted {
    @Advice.OnMethodEnter
    static void enter(@Advice.This Object group, @Advice.Argument(value = 2, readOnly = false) int generation) {
        generation = OlderGenerationsAccepted.raised(group, generation);
    }

    public static int raised(Object group, int generation) {
        return generation < 0 ? generation : Math.max(generation, (int) Reach.field(group, "generationId"));
    }
}
