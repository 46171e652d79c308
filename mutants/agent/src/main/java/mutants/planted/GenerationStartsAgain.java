package mutants.planted;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** At its second downgrade a group begins again with the first generation. */
@In(type = "org.apache.kafka.coordinator.group.classic.ClassicGroup", method = "fromConsumerGroup")
public class GenerationStartsAgain {
    private static final Set<Object> DOWNGRADED = ConcurrentHashMap.newKeySet();

    @Advice.OnMethodExit
    static void exit(@Advice.Return(typing = Assigner.Typing.DYNAMIC) Object group) {
        GenerationStartsAgain.count(group);
    }

    public static void count(Object group) {
        if (!DOWNGRADED.add(Reach.call(group, "groupId"))) {
            Reach.set(group, "generationId", 1);
        }
    }
}
