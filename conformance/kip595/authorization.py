"""Rights on the cluster without which the requests of the quorum are refused (KIP-595, KIP-801)."""

from collections.abc import Mapping
from typing import Any

from hypothesis.strategies import integers, sampled_from

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise, probe
from conformance.core.topologies import BYSTANDER, NODE, READER, SECURED
from conformance.rigs.quorum.quorum import GHOSTS, Quorum, QuorumData, cluster_id_of
from conformance.rigs.quorum.raft_requests import ASK
from conformance.rigs.rights import CLUSTER_ACTION, DESCRIBE, give_rights, right_on_cluster
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.messages import PartitionAnswer
from protocol.words import say
from strategies.inputs import EPOCHS_AHEAD

RIGHTS: Mapping[str, int] = {NODE: CLUSTER_ACTION, READER: DESCRIBE}
"""By user: the operation that it may do on the cluster. A bystander may do none."""


FOREIGN = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of another cluster."""


class SecuredQuorum(Quorum):
    """A single controller, and a user as whom it is asked; the kit's own, who may do everything, if it is empty."""

    def __init__(self, bench: Bench, data: QuorumData, user: str = "") -> None:
        super().__init__(bench, data)
        self._user = user

    def client(self, name: str, purpose: str = "") -> NodeClient:
        return self.bench.node(name, controller=True, purpose=purpose, user=self._user)

    def peer_of(self, name: str) -> int:
        """Return the controller's own id, since there is no other."""
        return self.bench.id_of(name)

    def asked_by(self, user: str) -> "SecuredQuorum":
        return SecuredQuorum(self.bench, QuorumData(self.cluster_id), user)


def prepare_rights(bench: Bench) -> QuorumData:
    """Give users their rights."""
    give_rights(bench, [right_on_cluster(user, operation) for user, operation in RIGHTS.items()])
    return QuorumData(cluster_id_of(bench))


RIGHTS_RIG = Rig(SECURED, prepare_rights, SecuredQuorum, shared=True)
"""A controller and a broker with an authorizer, and users with one right or none."""


@probe("KIP595-API-08", rig=RIGHTS_RIG, smoke=False, user=sampled_from([BYSTANDER, READER]), ahead=EPOCHS_AHEAD,
       ghost=integers(GHOSTS.start, GHOSTS.stop - 1))  # fmt: skip
def raft_request_needs_cluster_action(quorum: SecuredQuorum, case: str, user: str, ahead: int, ghost: int) -> Claims:
    """A user without ClusterAction is refused and changes nothing; one with it is not refused."""
    [name] = quorum.controllers
    more: dict[str, Any] = {"cluster_id": quorum.cluster_id, **({"replica_id": ghost} if case == "fetch" else {})}
    reads = case in ("fetch", "fetch-snapshot")

    def ask(settled: LeaderAndEpoch) -> PartitionAnswer:
        # A fetch in the leader's own epoch is one that it would serve.
        epoch = settled.leader_epoch + (0 if reads else ahead)
        answer: PartitionAnswer = ASK[case](quorum.asked_by(user), name, epoch, **more)
        return answer

    tried = quorum.attempt(name, ask)
    described = quorum.describe_by_leader()
    listed = ghost in {one.replica_id for one in described.observers}
    refused = tried.answer.top_level_error is Error.CLUSTER_AUTHORIZATION_FAILED
    # With another cluster's id it is refused for that, and changes nothing.
    allowed = ASK[case](quorum.asked_by(NODE), name, 0, cluster_id=FOREIGN)
    may = allowed.top_level_error is Error.INCONSISTENT_CLUSTER_ID
    yield premise(may, f"a user who may do it: {say(allowed)}")
    detail = f"asked by {user}; then the controller names {say(tried.after.reported)}, {ghost} listed: {say(listed)}"
    yield held_if(refused and tried.is_unchanged and not listed, tried.answer, described, detail=detail)


@probe("KIP595-DQ-05", rig=RIGHTS_RIG, smoke=False)
def description_needs_describe(quorum: SecuredQuorum, case: str) -> Claims:
    """A user is told about the quorum if it has Describe, by the controller and through a broker, and else refused."""
    user = {"cluster-action": NODE, "describe": READER}.get(case, BYSTANDER)
    bench = quorum.bench
    places = {"controller": bench.controllers, "broker": bench.brokers}.get(case, [*bench.controllers, *bench.brokers])
    answers = [bench.node(name, user=user).describe_quorum() for name in places]
    allowed = [bench.node(name).describe_quorum() for name in places]
    yield premise(all(one.error is Error.NONE for one in allowed), "a user who may do everything and is told")
    expected = Error.NONE if case == "describe" else Error.CLUSTER_AUTHORIZATION_FAILED
    right = all(one.top_level_error is expected and one.error is expected for one in answers)
    yield held_if(right, *answers, detail=f"{user} asked {', '.join(places)}")
