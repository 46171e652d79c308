package mutants.planted;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import mutants.In;
import mutants.Reach;
import net.bytebuddy.asm.Advice;

/** Of a producer's last five batches a partition recognises the two newest only. */
@In(type = "org.apache.kafka.storage.internals.log.ProducerStateEntry", method = "findDuplicateBatch")
public class TwoBatchesRemembered {
    private static final int REMEMBERED = 2;

    @Advice.OnMethodExit
    static void exit(@Advice.This Object entry, @Advice.Return(readOnly = false) Optional<?> found) {
        found = TwoBatchesRemembered.remembered(entry, found);
    }

    public static Optional<?> remembered(Object entry, Optional<?> found) {
        List<Object> kept = new ArrayList<>((Collection<?>) Reach.call(entry, "batchMetadata"));
        boolean isOld = found.isPresent() && kept.indexOf(found.get()) < kept.size() - REMEMBERED;
        return isOld ? Optional.empty() : found;
    }
}
