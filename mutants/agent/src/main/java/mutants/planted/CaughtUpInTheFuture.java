package mutants.planted;

import mutants.In;
import net.bytebuddy.asm.Advice;

/** A replica of the metadata log is said to have caught up an hour after it did. */
@In(type = "org.apache.kafka.raft.LeaderState$ReplicaState", method = "lastCaughtUpTimestamp")
public class CaughtUpInTheFuture {
    @Advice.OnMethodExit
    static void exit(@Advice.Return(readOnly = false) long time) {
        time = time < 0 ? time : time + 3_600_000;
    }
}
