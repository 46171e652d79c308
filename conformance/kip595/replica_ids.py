"""Fetchers that the leader counts as replicas, and the errors of FetchSnapshot (KIP-595, KIP-630)."""

from typing import NamedTuple

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.quorum.fetching import landmarks, log_end, try_fetch
from conformance.rigs.quorum.quorum import GHOSTS, QUORUM, EpochStart, Quorum
from protocol.codes import Error
from protocol.log import EpochAndOffset, FetchedPartition, LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, SnapshotPiece
from strategies.inputs import PLACES, Place, versions_back

BACK = integers(0, 20)
OLDER = versions_back(3)


@probe("KIP595-FETCH-09", rig=QUORUM, cases=["consumer"], back=BACK, older=OLDER)
def consumer_leaves_no_trace(quorum: Quorum, back: int, older: int) -> Claims:
    """A fetch without a replica id is served, and DescribeQuorum shows no new replica."""
    before = quorum.describe_by_leader()
    tried = try_fetch(quorum, quorum.one("leader"), max(0, log_end(quorum) - back), older=older)
    yield premise(tried.answer.error is Error.NONE, "a fetch that was served")
    after = quorum.describe_by_leader()
    yield premise(after.leader_epoch == before.leader_epoch, f"still epoch {before.leader_epoch}")
    same = {o.replica_id for o in after.observers} == {o.replica_id for o in before.observers}
    yield held_if(same and len(after.current_voters) == len(before.current_voters), tried.answer, before, after)


@probe("KIP595-FETCH-09", rig=QUORUM, cases=["unknown-id"], ghost=integers(GHOSTS.start, GHOSTS.stop - 1), back=BACK,
       older=OLDER)  # fmt: skip
def unknown_replica_is_an_observer(quorum: Quorum, ghost: int, back: int, older: int) -> Claims:
    """The sender of a fetch with an unknown id appears among the observers with its offset, and not among the
    voters."""
    log = quorum.epochs()
    offset = max(log[-1].start + 1, log_end(quorum) - back)
    tried = try_fetch(quorum, quorum.one("leader"), offset, replica_id=ghost, older=older)
    yield premise(tried.answer.error is Error.NONE and tried.answer.diverging_epoch is None, "a fetch that was served")
    described, epoch = quorum.describe_by_leader(), tried.before.reported.leader_epoch
    yield premise(described.leader_epoch == epoch, f"still epoch {epoch}")
    yield held_if(is_observer(described, ghost, offset, tried.answer), tried.answer, described)


def is_observer(described: QuorumAnswer, id: int, offset: int, answer: FetchedPartition) -> bool:
    """True if the quorum has an observer of this id at the offset from which it fetched, and no such voter.

    A fetch from inside a batch, as no replica sends it, gets the whole batch: then the offset may be the batch's first one.
    """
    begins = next((one.base_offset for one in answer.batches if one.base_offset <= offset <= one.last_offset), offset)
    seen = [observer.log_end_offset for observer in described.observers if observer.replica_id == id]
    return seen in ([offset], [begins]) and id not in {voter.replica_id for voter in described.current_voters}


@probe("KIP595-FETCH-09", rig=QUORUM, cases=["leaders-id"], back=BACK, older=OLDER)
def fetch_under_the_leaders_id_is_refused(quorum: Quorum, back: int, older: int) -> Claims:
    """A fetch from the leader with its own id is answered UNKNOWN_SERVER_ERROR, and the leader keeps leading."""
    name = quorum.one("leader")
    offset = max(0, log_end(quorum) - back)
    own = quorum.bench.id_of(name)
    tried = try_fetch(quorum, name, offset, replica_id=own, older=older, malformed="the id of the node that is asked")
    described = quorum.describe_by_leader()
    leads = described.error is Error.NONE and described.leader_id == own
    refused = tried.answer.error is Error.UNKNOWN_SERVER_ERROR and tried.answer.top_level_error is Error.NONE
    yield held_if(refused and leads and tried.is_unchanged, tried.answer, described)


class WrongSnapshot(NamedTuple):
    """A FetchSnapshot that must fail: the expected partition error, and the field of the request that is wrong."""

    error: Error
    ahead: int = 0
    topic: str = METADATA_TOPIC


SNAPSHOTS = {
    "unknown-topic": WrongSnapshot(Error.UNKNOWN_TOPIC_OR_PARTITION, topic="other"),
    "not-leader": WrongSnapshot(Error.NOT_LEADER_OR_FOLLOWER),
    "older-epoch": WrongSnapshot(Error.FENCED_LEADER_EPOCH, ahead=-1),
    "newer-epoch": WrongSnapshot(Error.UNKNOWN_LEADER_EPOCH, ahead=1),
    "no-snapshot": WrongSnapshot(Error.SNAPSHOT_NOT_FOUND),
}


def snapshot_id_at(log: list[EpochStart], offset: int) -> EpochAndOffset:
    """Return the id that a snapshot up to an offset of the log would have: a quorum as young as this one has made none."""
    end = max(1, offset)
    return EpochAndOffset(next((line.epoch for line in reversed(log) if line.start < end), log[0].epoch), end)


@probe("KIP595-FETCH-14", rig=QUORUM, cases=list(SNAPSHOTS), place=PLACES, older=versions_back(1))
def snapshot_is_refused_by_name(quorum: Quorum, case: str, place: Place, older: int) -> Claims:
    """A FetchSnapshot for an unavailable snapshot is refused with the partition error that says why."""
    wrong, id = SNAPSHOTS[case], snapshot_id_at(quorum.epochs(), place.among(landmarks(quorum)))
    name = quorum.one("follower" if case == "not-leader" else "leader")

    def ask(settled: LeaderAndEpoch) -> SnapshotPiece:
        return quorum.client(name).fetch_snapshot(
            id, topic=wrong.topic, cluster_id=quorum.cluster_id,
            current_leader_epoch=settled.leader_epoch + wrong.ahead, version=quorum.version("FetchSnapshot", older),
        )  # fmt: skip

    tried = quorum.attempt(name, ask, disk=False)
    yield held_if(tried.answer.error is wrong.error and tried.answer.top_level_error is Error.NONE, tried.answer)
