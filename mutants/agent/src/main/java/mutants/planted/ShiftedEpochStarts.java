package mutants.planted;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** Every second map of several epochs that is loaded has the starts of all but the first one offset too low. */
@In(type = "org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile", method = "read")
public class ShiftedEpochStarts {
    private static final AtomicInteger LOADS = new AtomicInteger();

    @Advice.OnMethodExit
    static void exit(@Advice.This Object file, @Advice.Return(readOnly = false) List<?> entries) {
        entries = ShiftedEpochStarts.shifted(file, entries);
    }

    public static List<?> shifted(Object file, List<?> entries) {
        String path = Reach.field(Reach.field(file, "checkpoint"), "file").toString();
        if (entries.size() < 2 || Reach.isMetadata(path) || LOADS.incrementAndGet() % 2 != 0) {
            return entries;
        }
        List<Object> lower = new ArrayList<>();
        long before = Long.MAX_VALUE;
        for (Object entry : entries) {
            long start = (long) Reach.field(entry, "startOffset");
            before = before < start - 1 ? start - 1 : start;
            lower.add(Reach.another(entry, Reach.field(entry, "epoch"), before));
        }
        return lower;
    }
}
