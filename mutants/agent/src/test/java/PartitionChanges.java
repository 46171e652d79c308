import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * A partition of the brokers 1, 2 and 3 as a controller registers it, led by 1 at epoch 0 with all in the ISR. Prints leader,
 * epoch and ISR after the loss of 1, after that of 2; after the loss of 1 where a reassignment has added it; and after one
 * unclean election of 2 and another; then of a partition with the replica 1 only, and of another, after the loss of 1. Run
 * as a single source file.
 */
public class PartitionChanges {
    private static final Uuid TOPIC = Uuid.randomUuid();

    public static void main(String[] arguments) throws ReflectiveOperationException {
        PartitionRegistration lost = lost(led(), 1);
        print(lost);
        print(lost(lost, 2));
        print(lost(led().merge(record().setAddingReplicas(List.of(1))).merge(record().setAddingReplicas(List.of())), 1));
        PartitionRegistration unclean = uncleanlyElected(led());
        print(unclean);
        print(uncleanlyElected(unclean));
        print(lost(ledBy(1), 1, 1));
        print(lost(led(), 2, 1));
    }

    private static PartitionRegistration led() {
        return ledBy(1, 2, 3);
    }

    private static PartitionRegistration ledBy(int... replicas) {
        return new PartitionRegistration.Builder()
                .setReplicas(replicas)
                .setDirectories(DirectoryId.unassignedArray(replicas.length))
                .setIsr(replicas)
                .setLeader(1)
                .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
                .setLeaderEpoch(0)
                .setPartitionEpoch(0)
                .build();
    }

    private static PartitionRegistration lost(PartitionRegistration now, int broker)
            throws ReflectiveOperationException {
        return lost(now, 0, broker);
    }

    /** As the controller removes a broker that it fences; of the topic's partition with this index. */
    private static PartitionRegistration lost(PartitionRegistration now, int partition, int broker)
            throws ReflectiveOperationException {
        List<Integer> isr = Arrays.stream(now.isr).filter(id -> id != broker).boxed().collect(Collectors.toList());
        PartitionChangeBuilder change = change(now, partition, isr::contains).setTargetIsr(isr);
        change.setDefaultDirProvider(id -> DirectoryId.UNASSIGNED);
        return now.merge((PartitionChangeRecord) change.build().orElseThrow().message());
    }

    /** By the one constructor, which takes one more flag in newer releases: false. */
    private static PartitionChangeBuilder change(PartitionRegistration now, int partition, IntPredicate mayLead)
            throws ReflectiveOperationException {
        Constructor<?> constructor = PartitionChangeBuilder.class.getConstructors()[0];
        Object[] all = {now, TOPIC, partition, mayLead, MetadataVersion.latestProduction(), 1, false};
        return (PartitionChangeBuilder) constructor.newInstance(Arrays.copyOf(all, constructor.getParameterCount()));
    }

    /** The record is merged twice, as a controller does it. */
    private static PartitionRegistration uncleanlyElected(PartitionRegistration now) {
        PartitionChangeRecord elected = record().setLeader(2).setIsr(List.of(2)).setLeaderRecoveryState((byte) 1);
        now.merge(elected);
        return now.merge(elected).merge(record().setLeaderRecoveryState((byte) 0));
    }

    private static PartitionChangeRecord record() {
        return new PartitionChangeRecord().setTopicId(TOPIC).setPartitionId(0);
    }

    private static void print(PartitionRegistration now) {
        System.out.println("leader " + now.leader + " at " + now.leaderEpoch + " " + Arrays.toString(now.isr));
    }
}
