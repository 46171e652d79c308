package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A heartbeat that is answered with FENCED_MEMBER_EPOCH removes the member of that id. */
@In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "consumerGroupHeartbeat")
public class FencedMemberRemoved {
    private static final short FENCED_MEMBER_EPOCH = 110;

    @Advice.OnMethodExit(onThrowable = Throwable.class)
    static void exit(
            @Advice.This Object manager,
            @Advice.AllArguments Object[] arguments,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object result,
            @Advice.Thrown(readOnly = false) Throwable refusal) {
        if (FencedMemberRemoved.isFenced(arguments, refusal)) {
            result = FencedMemberRemoved.removed(manager, arguments);
            refusal = null;
        }
    }

    /** The outer of two methods of that name. */
    public static boolean isFenced(Object[] arguments, Throwable refusal) {
        return arguments.length == 2
                && refusal != null
                && refusal.getClass().getSimpleName().equals("FencedMemberEpochException");
    }

    public static Object removed(Object manager, Object[] arguments) {
        Object request = arguments[1];
        Object result = Reach.call(
                manager,
                "consumerGroupLeave",
                Reach.call(request, "groupId"),
                Reach.call(request, "instanceId"),
                Reach.call(request, "memberId"),
                -1);
        Reach.call(Reach.call(result, "response"), "setErrorCode", FENCED_MEMBER_EPOCH);
        return result;
    }
}
