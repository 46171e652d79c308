package mutants.planted;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** At a coordinator that loaded its group, classic members count as members of the consumer protocol. */
public class ClassicMembersForgottenByLoading {
    private static final Set<Object> LOADED = ConcurrentHashMap.newKeySet();

    @In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "onLoaded")
    public static class Loaded {
        @Advice.OnMethodEnter
        static void enter(@Advice.This Object manager) {
            ClassicMembersForgottenByLoading.loaded((Map<?, ?>) Reach.field(manager, "groups"));
        }
    }

    @In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember", method = "useClassicProtocol")
    public static class Asked {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object member, @Advice.Return(readOnly = false) boolean classic) {
            classic = classic && !ClassicMembersForgottenByLoading.isLoaded(member);
        }
    }

    public static void loaded(Map<?, ?> groups) {
        for (Object group : groups.values()) {
            if (group.getClass().getSimpleName().equals("ConsumerGroup")) {
                LOADED.addAll(((Map<?, ?>) Reach.call(group, "members")).keySet());
            }
        }
    }

    public static boolean isLoaded(Object member) {
        return LOADED.contains(Reach.call(member, "memberId"));
    }
}
