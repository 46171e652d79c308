package mutants.planted;

import java.util.List;
import java.util.Set;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.requests.ApiError;

/** A refused alteration of a topic applies its values of two keys, which are valid wherever this kit asks for them. */
public class HalfAppliedAlteration {
    private static final String CONFIGURATION = "org.apache.kafka.controller.ConfigurationControlManager";
    private static final Set<String> APPLIED = Set.of("max.message.bytes", "retention.ms");

    /** The records of the alteration that this thread refused, between the two methods. */
    private static final ThreadLocal<List<?>> REFUSED = ThreadLocal.withInitial(List::of);

    @In(type = CONFIGURATION, method = "validateAlterConfig")
    public static class Validated {
        @Advice.OnMethodExit
        static void exit(
                @Advice.Argument(0) ConfigResource resource,
                @Advice.Argument(1) List<?> records,
                @Advice.Argument(3) boolean newlyCreated,
                @Advice.Return ApiError answer) {
            boolean alters = resource.type() == ConfigResource.Type.TOPIC && !newlyCreated;
            HalfAppliedAlteration.remember(alters && answer.isFailure() ? records : List.of());
        }
    }

    @In(type = CONFIGURATION, method = "incrementalAlterConfigResource")
    public static class Altered {
        @Advice.OnMethodEnter
        static void enter() {
            HalfAppliedAlteration.remember(List.of());
        }

        @Advice.OnMethodExit
        static void exit(@Advice.Argument(3) List<Object> written) {
            HalfAppliedAlteration.apply(written);
        }
    }

    public static void remember(List<?> records) {
        REFUSED.set(records);
    }

    public static void apply(List<Object> written) {
        for (Object record : REFUSED.get()) {
            if (APPLIED.contains((String) Reach.call(Reach.call(record, "message"), "name"))) {
                written.add(record);
            }
        }
        REFUSED.remove();
    }
}
