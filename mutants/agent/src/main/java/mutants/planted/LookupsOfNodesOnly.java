package mutants.planted;

import java.util.Collections;
import java.util.List;
import mutants.In;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Epochs are looked up for nodes only, as before KIP-320: OffsetForLeaderEpoch needs ClusterAction. */
@In(type = "org.apache.kafka.metadata.authorizer.StandardAuthorizer", method = "authorize")
public class LookupsOfNodesOnly {
    @Advice.OnMethodExit
    static void exit(
            @Advice.Argument(0) AuthorizableRequestContext request,
            @Advice.Argument(1) List<Action> actions,
            @Advice.Return(readOnly = false) List<AuthorizationResult> results) {
        if (request.requestType() == ApiKeys.OFFSET_FOR_LEADER_EPOCH.id
                && actions.get(0).operation() == AclOperation.DESCRIBE) {
            results = Collections.nCopies(results.size(), AuthorizationResult.DENIED);
        }
    }
}
