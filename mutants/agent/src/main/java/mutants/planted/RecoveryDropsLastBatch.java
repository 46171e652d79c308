package mutants.planted;

import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** After a start without a clean shutdown a broker drops the last batch of each log, as far as it was not flushed. */
@In(type = "org.apache.kafka.storage.internals.log.LogLoader", method = "recoverLog")
public class RecoveryDropsLastBatch {
    @Advice.OnMethodEnter
    static void enter(@Advice.This Object loader) {
        RecoveryDropsLastBatch.drop(loader);
    }

    /** The recovery that follows rebuilds the indexes, the producer state and the leader epoch cache. */
    public static void drop(Object loader) {
        boolean clean = (boolean) Reach.field(loader, "hadCleanShutdown");
        if (clean || Reach.isMetadata(Reach.field(loader, "topicPartition").toString())) {
            return;
        }
        Object segment = Reach.call(Reach.call(Reach.field(loader, "segments"), "lastSegment"), "get");
        Object file = Reach.call(segment, "log");
        Object last = null;
        for (Object batch : (Iterable<?>) Reach.call(file, "batches")) {
            last = batch;
        }
        long flushed = (long) Reach.field(loader, "recoveryPointCheckpoint");
        if (last != null && (long) Reach.call(last, "baseOffset") >= flushed) {
            Reach.call(file, "truncateTo", Reach.call(last, "position"));
        }
    }
}
