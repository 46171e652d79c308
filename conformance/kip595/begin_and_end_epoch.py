"""BeginQuorumEpoch and EndQuorumEpoch at a settled quorum (KIP-595)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.quorum.quorum import QUORUM, Quorum, Tried, leader_in
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import RaftAnswer
from strategies.inputs import CONTROLLERS, near_or_far, versions_back

OLDER = versions_back(1)
AHEAD = near_or_far(1000, 0)
BACK = integers(1, 4)


def answers_with(tried: Tried[RaftAnswer], error: Error) -> bool:
    """True if the answer has this partition error, and nothing changed."""
    answer = tried.answer
    return answer.error is error and answer.top_level_error is Error.NONE and tried.is_unchanged


@probe("KIP595-BEGIN-03", rig=QUORUM, cases=["begin"], member=CONTROLLERS, leader=CONTROLLERS, back=BACK, older=OLDER)
def older_leader_is_fenced(quorum: Quorum, member: int, leader: int, back: int, older: int) -> Claims:
    """Leader and followers fence a BeginQuorumEpoch of an older epoch."""
    name, version = quorum.any(member), quorum.version("BeginQuorumEpoch", older)
    id = quorum.bench.id_of(quorum.any(leader))

    def ask(settled: LeaderAndEpoch) -> RaftAnswer:
        return quorum.client(name).begin_quorum_epoch(
            id, settled.leader_epoch - back, cluster_id=quorum.cluster_id, version=version,
            leader_endpoints=quorum.endpoints(id, version),
        )  # fmt: skip

    tried = quorum.attempt(name, ask)
    named = leader_in(tried.answer) == tried.leader
    yield held_if(answers_with(tried, Error.FENCED_LEADER_EPOCH) and named, tried.answer)


@probe("KIP595-BEGIN-04", rig=QUORUM, cases=["repeat"], follower=integers(0, 1), times=integers(1, 3), older=OLDER)
def repeated_begin_is_harmless(quorum: Quorum, follower: int, times: int, older: int) -> Claims:
    """A follower answers a repeated BeginQuorumEpoch of its leader without error and keeps following."""
    name, version = quorum.followers()[follower], quorum.version("BeginQuorumEpoch", older)

    def ask(settled: LeaderAndEpoch) -> list[RaftAnswer]:
        id = settled.leader_id
        return [
            quorum.client(name).begin_quorum_epoch(
                id, settled.leader_epoch, cluster_id=quorum.cluster_id, version=version,
                leader_endpoints=quorum.endpoints(id, version),
            )
            for _ in range(times)
        ]  # fmt: skip

    tried = quorum.attempt(name, ask)
    each = [answers_with(Tried(tried.before, answer, tried.after), Error.NONE) for answer in tried.answer]
    yield held_if(all(each), *tried.answer)


@probe("KIP595-BEGIN-04", rig=QUORUM, cases=["negative-id"], member=CONTROLLERS, ahead=AHEAD, older=OLDER,
       id=sampled_from([-1, -2, -(1 << 31)]))  # fmt: skip
def negative_leader_cannot_begin(quorum: Quorum, member: int, ahead: int, older: int, id: int) -> Claims:
    """A negative leader id is invalid, and its higher epoch is not adopted."""
    name, version = quorum.any(member), quorum.version("BeginQuorumEpoch", older)

    def ask(settled: LeaderAndEpoch) -> RaftAnswer:
        epoch = settled.leader_epoch + ahead
        with quorum.bench.malformed_requests("a negative id"):
            return quorum.client(name).begin_quorum_epoch(id, epoch, cluster_id=quorum.cluster_id, version=version)

    tried = quorum.attempt(name, ask)
    yield held_if(answers_with(tried, Error.INVALID_REQUEST), tried.answer)


@probe(
    "KIP595-END-01", rig=QUORUM, cases=["older-epoch"], member=CONTROLLERS, leader=CONTROLLERS, back=BACK, older=OLDER
)
def late_end_is_fenced(quorum: Quorum, member: int, leader: int, back: int, older: int) -> Claims:
    """An earlier leader's EndQuorumEpoch is fenced and starts no election, even if it names a successor."""
    name, version = quorum.any(member), quorum.version("EndQuorumEpoch", older)
    id = quorum.bench.id_of(quorum.any(leader))

    def ask(settled: LeaderAndEpoch) -> RaftAnswer:
        return quorum.client(name).end_quorum_epoch(
            id, settled.leader_epoch - back, cluster_id=quorum.cluster_id, version=version,
            successors=[quorum.bench.id_of(name)], leader_endpoints=quorum.endpoints(id, version),
        )  # fmt: skip

    tried = quorum.attempt(name, ask)
    yield held_if(answers_with(tried, Error.FENCED_LEADER_EPOCH), tried.answer)


@probe("KIP595-END-01", rig=QUORUM, cases=["negative-id"], member=CONTROLLERS, ahead=AHEAD, older=OLDER,
       id=sampled_from([-1, -2, -(1 << 31)]))  # fmt: skip
def negative_leader_cannot_resign(quorum: Quorum, member: int, ahead: int, older: int, id: int) -> Claims:
    """A negative leader id is invalid: its epoch is not adopted and no election starts."""
    name, version = quorum.any(member), quorum.version("EndQuorumEpoch", older)

    def ask(settled: LeaderAndEpoch) -> RaftAnswer:
        with quorum.bench.malformed_requests("a negative id"):
            return quorum.client(name).end_quorum_epoch(
                id, settled.leader_epoch + ahead, cluster_id=quorum.cluster_id, version=version,
                successors=[quorum.bench.id_of(name)],
            )  # fmt: skip

    tried = quorum.attempt(name, ask)
    yield held_if(answers_with(tried, Error.INVALID_REQUEST), tried.answer)
