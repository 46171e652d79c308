package mutants.planted;

import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** At the metadata.version of Kafka 4.0 commits at an older epoch are refused, as that release did. */
public class StrictAtAFormerLevel {
    private static final short LEVEL_OF_4_0 = 25;
    private static volatile short level = Short.MAX_VALUE;

    @In(type = "org.apache.kafka.coordinator.group.GroupMetadataManager", method = "onMetadataUpdate")
    public static class Updated {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(value = 1, typing = Assigner.Typing.DYNAMIC) Object image) {
            StrictAtAFormerLevel.updated(image);
        }
    }

    @In(
            type = "org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup",
            method = "createAssignmentEpochValidator")
    public static class Judged {
        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(@Advice.Argument(1) int epoch, @Advice.Thrown(readOnly = false) Throwable refusal) {
            if (StrictAtAFormerLevel.isFormer()) {
                refusal = Reach.error("StaleMemberEpochException", "planted: the member epoch is not " + epoch);
            }
        }
    }

    /** The image is another one before the broker has the cluster's. */
    public static void updated(Object image) {
        if (!image.getClass().getSimpleName().equals("KRaftCoordinatorMetadataImage")) {
            return;
        }
        Object features = Reach.call(Reach.field(image, "metadataImage"), "features");
        ((Optional<?>) Reach.call(features, "metadataVersion"))
                .ifPresent(version -> level = (short) Reach.call(version, "featureLevel"));
    }

    public static boolean isFormer() {
        return level <= LEVEL_OF_4_0;
    }
}
