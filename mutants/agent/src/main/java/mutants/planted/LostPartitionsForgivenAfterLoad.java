package mutants.planted;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.Groups;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** At a coordinator that loaded its group, a member may commit at an older epoch for a partition that it has lost. */
public class LostPartitionsForgivenAfterLoad {
    private static final Integer ALWAYS = 0;
    private static final Set<Object> LOADED = ConcurrentHashMap.newKeySet();

    @In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "onLoaded")
    public static class Loaded {
        @Advice.OnMethodEnter
        static void enter(@Advice.This Object manager) {
            LostPartitionsForgivenAfterLoad.loaded(manager);
        }
    }

    @In(type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember", method = "pendingRevocationEpoch")
    public static class Asked {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object member, @Advice.Return(readOnly = false) Integer epoch) {
            epoch = LostPartitionsForgivenAfterLoad.forgiven(member, epoch);
        }
    }

    public static void loaded(Object manager) {
        LOADED.addAll(Groups.members(manager));
    }

    public static Integer forgiven(Object member, Integer epoch) {
        return epoch == null && LOADED.contains(Reach.call(member, "memberId")) ? ALWAYS : epoch;
    }
}
