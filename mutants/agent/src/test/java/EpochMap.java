import java.io.File;
import java.nio.file.Files;
import java.util.concurrent.ScheduledFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/**
 * A replica's leader epoch cache, without a broker around it: 0 from offset 0, 2 from 3, 4 from 6, and a log that ends at 9.
 * Prints, each from such a map of its own: the end of epoch 1, the map cut to end at 3, to start at 4 and at 6, loaded a
 * first and a second time, and cut to start at 1 and then to end at 4. Arguments: an empty directory and a topic. Run as a
 * single source file.
 */
public class EpochMap {
    private final File directory;
    private final TopicPartition partition;
    private LeaderEpochFileCache map;

    private EpochMap(File root, String topic) {
        partition = new TopicPartition(topic, 0);
        directory = new File(root, partition.toString());
    }

    public static void main(String[] arguments) throws Exception {
        EpochMap epochs = new EpochMap(new File(arguments[0]), arguments[1]);
        epochs.directory.mkdirs();
        System.out.println(epochs.written().endOffsetFor(1, 9));
        epochs.written().truncateFromEndAsyncFlush(3);
        System.out.println(epochs.map.epochWithOffsets());
        for (long start : new long[] {4, 6}) {
            epochs.written().truncateFromStartAsyncFlush(start);
            System.out.println(epochs.map.epochWithOffsets());
        }
        epochs.written();
        System.out.println(epochs.loaded().epochWithOffsets());
        System.out.println(epochs.loaded().epochWithOffsets());
        epochs.written().truncateFromStartAsyncFlush(1);
        epochs.map.truncateFromEndAsyncFlush(4);
        System.out.println(epochs.map.epochWithOffsets());
    }

    private LeaderEpochFileCache written() throws Exception {
        Files.deleteIfExists(new File(directory, "leader-epoch-checkpoint").toPath());
        loaded();
        map.assign(0, 0);
        map.assign(2, 3);
        map.assign(4, 6);
        return map;
    }

    private LeaderEpochFileCache loaded() throws Exception {
        LogDirFailureChannel failures = new LogDirFailureChannel(1);
        File file = new File(directory, "leader-epoch-checkpoint");
        map = new LeaderEpochFileCache(partition, new LeaderEpochCheckpointFile(file, failures), new AtOnce());
        return map;
    }

    private static final class AtOnce implements Scheduler {
        @Override
        public void startup() {}

        @Override
        public void shutdown() {}

        @Override
        public void resizeThreadPool(int size) {}

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            task.run();
            return null;
        }
    }
}
