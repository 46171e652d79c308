package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import org.apache.kafka.common.errors.FencedMemberEpochException;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.Errors;

/** A heartbeat that is answered with FENCED_MEMBER_EPOCH removes the member of that id. */
@In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "consumerGroupHeartbeat")
public class FencedMemberRemoved {
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
        return arguments.length == 2 && refusal instanceof FencedMemberEpochException;
    }

    public static Object removed(Object manager, Object[] arguments) {
        ConsumerGroupHeartbeatRequestData request = (ConsumerGroupHeartbeatRequestData) arguments[1];
        Object result = Reach.call(
                manager, "consumerGroupLeave", request.groupId(), request.instanceId(), request.memberId(), -1);
        ((ConsumerGroupHeartbeatResponseData) Reach.call(result, "response"))
                .setErrorCode(Errors.FENCED_MEMBER_EPOCH.code());
        return result;
    }
}
