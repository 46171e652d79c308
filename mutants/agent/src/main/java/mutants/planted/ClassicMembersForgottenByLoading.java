package mutants.planted;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.Groups;
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
            ClassicMembersForgottenByLoading.loaded(manager);
        }
    }

    @In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember", method = "useClassicProtocol")
    public static class Asked {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object member, @Advice.Return(readOnly = false) boolean classic) {
            classic = classic && !ClassicMembersForgottenByLoading.isLoaded(member);
        }
    }

    public static void loaded(Object manager) {
        LOADED.addAll(Groups.members(manager));
    }

    public static boolean isLoaded(Object member) {
        return LOADED.contains(Reach.call(member, "memberId"));
    }
}
