package mutants.planted;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import mutants.In;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** A heartbeat does not renew its member's session: the member is removed a session timeout after it joined. */
@In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "scheduleConsumerGroupSessionTimeout")
public class SessionsNotRenewed {
    private static final Set<Object> BEGUN = ConcurrentHashMap.newKeySet();

    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    static boolean enter(@Advice.AllArguments(typing = Assigner.Typing.DYNAMIC) Object[] arguments) {
        return SessionsNotRenewed.isRenewal(arguments);
    }

    /** Of the two methods of this name the one without a timeout calls the other. */
    public static boolean isRenewal(Object[] arguments) {
        return arguments.length == 3 && !BEGUN.add(arguments[0] + " " + arguments[1]);
    }
}
