package mutants.planted;

import java.util.Collection;
import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.MetadataResponse;

/** Metadata names one more topic than was asked for, with UNKNOWN_TOPIC_OR_PARTITION. */
@In(type = "org.apache.kafka.common.requests.MetadataResponse", method = "prepareResponse")
public class UninvitedTopic {
    @Advice.OnMethodExit
    @SuppressWarnings("unchecked")
    static void exit(@Advice.Return MetadataResponse answer) {
        // As a plain collection, so that this class is verified without Kafka on the class path.
        Collection<Object> topics = (Collection<Object>) (Collection<?>) answer.data().topics();
        if (!topics.isEmpty() && answer.data().topics().find("uninvited") == null) {
            topics.add(new MetadataResponseTopic()
                    .setName("uninvited")
                    .setErrorCode(Errors.UNKNOWN_TOPIC_OR_PARTITION.code()));
        }
    }
}
