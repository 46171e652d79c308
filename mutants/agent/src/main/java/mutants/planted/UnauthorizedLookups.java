package mutants.planted;

import java.util.Collections;
import java.util.List;
import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Epochs are looked up for any user: OffsetForLeaderEpoch needs no right. */
@In(type = "org.apache.kafka.metadata.authorizer.StandardAuthorizer", method = "authorize")
public class UnauthorizedLookups {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(0) AuthorizableRequestContext request,
            @Advice.Return(readOnly = false) List<AuthorizationResult> results) {
        if (request.requestType() == ApiKeys.OFFSET_FOR_LEADER_EPOCH.id) {
            results = Collections.nCopies(results.size(), AuthorizationResult.ALLOWED);
        }
    }
}
