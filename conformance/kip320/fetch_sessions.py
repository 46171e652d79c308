"""Fetch sessions: partitions that an incremental answer may leave out, and those that it must not (KIP-227 with KIP-595)."""

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.judging.facts.log import CONSUMER, FUTURE_REPLICA
from conformance.rigs.log.epoch_requests import DIVERGES_FROM, diverges_at, sender_for
from conformance.rigs.log.partition import Partition, fresh_partition
from conformance.rigs.log.replica_log import FetchedLog, replica_log, serves_log
from conformance.rigs.log.suffixes import suffix_to_truncate
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.errors import KitError
from protocol.log import FetchAnswer, FetchedPartition, FetchOptions, FetchPartition
from protocol.words import say
from strategies.inputs import RECORDS


class Session:
    """A fetch session at one broker for one partition (KIP-227), by default a consumer's."""

    def __init__(self, partition: Partition, node: NodeClient, version: int, replica_id: int = CONSUMER) -> None:
        self._partition = partition
        self._node = node
        self._version = version
        self._replica_id = replica_id
        self._id = 0
        self._epoch = 0

    def ask(self, offset: int | None = None, current: int = -1, last: int = -1) -> FetchAnswer:
        """Send the session's next fetch; with `offset` None the request omits the partition. Raises KitError if the
        session breaks."""
        wanted = FetchPartition(
            topic=self._partition.topic,
            partition=0,
            fetch_offset=offset or 0,
            current_leader_epoch=current,
            last_fetched_epoch=last,
        )
        answer = self._node.fetch_many(
            [] if offset is None else [wanted],
            FetchOptions(replica_id=self._replica_id, session_id=self._id, session_epoch=self._epoch),
            version=self._version,
        )
        if answer.error is not Error.NONE or answer.session_id == 0:
            raise KitError(f"{self._node.node} keeps no fetch session: {answer}")
        self._id, self._epoch = answer.session_id, self._epoch + 1
        return answer


def requested_partition(answer: FetchAnswer) -> FetchedPartition | None:
    """Return the partition in a session's answer; None if it is omitted."""
    return answer.partitions[0] if answer.partitions else None


@probe(
    "KIP320-FETCH-11",
    rig=fresh_partition(epochs=1),
    cases=["unchanged"],
    with_epoch=booleans(),
    past=integers(1, 3),
    rereads=integers(0, 2),
    back=BACK,
)
def session_repeats_divergence_and_errors(
    partition: Partition, with_epoch: bool, past: int, rereads: int, back: int
) -> Claims:
    """A partition with nothing new is left out; one that diverges or is fenced is in every answer until it is sent again."""
    state = partition.await_agreement()
    node = partition.bench.node(state.leader)
    log = replica_log(partition, node)
    own, sent = state.leader_epoch, state.leader_epoch if with_epoch else -1
    session = Session(partition, node, choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM))
    opened = requested_partition(session.ask(log.end, sent, own))
    yield premise(opened is not None and opened.error is Error.NONE, f"a session at the log end: {say(opened)}")
    quiet = [session.ask() for _ in range(1 + rereads)]
    yield held_if(not any(answer.partitions for answer in quiet), *quiet)

    yield from diverging(session, log, sent, past, rereads)
    session.ask(log.end, own, own)
    yield premise(session.ask().partitions == (), "a session at the log end again")
    moved = partition.move_leader()
    fenced = [session.ask() for _ in range(1 + rereads)]
    yield held_if(all(is_fenced(requested_partition(answer)) for answer in fenced), *fenced, case="fenced")
    resent = session.ask(0, moved.leader_epoch, -1)
    again = session.ask()
    served = [
        found is not None and serves_log(found, log, 0)
        for found in (requested_partition(resent), requested_partition(again))
    ]
    yield held_if(all(served), resent, again, case="resent")


@probe(
    "KIP320-FETCH-11",
    rig=fresh_partition(epochs=1),
    cases=["follower"],
    with_epoch=booleans(),
    past=integers(1, 3),
    rereads=integers(0, 2),
    back=BACK,
)
def session_at_a_follower_repeats_them_too(
    partition: Partition, with_epoch: bool, past: int, rereads: int, back: int
) -> Claims:
    """A follower also leaves out a partition with nothing new, and one that diverges or is fenced is in every answer."""
    node, _, state = sender_for(partition, "follower")
    log = replica_log(partition, node)
    own, sent = state.leader_epoch, state.leader_epoch if with_epoch else -1
    session = Session(partition, node, choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM))
    opened = requested_partition(session.ask(log.end, sent, own))
    yield premise(opened is not None and opened.error is Error.NONE, f"a session at the log end: {say(opened)}")
    quiet = [session.ask() for _ in range(1 + rereads)]
    yield held_if(not any(answer.partitions for answer in quiet), *quiet)
    yield from diverging(session, log, sent, past, rereads, "follower")
    session.ask(log.end, own, own)
    yield premise(session.ask().partitions == (), "a session at the log end again")
    partition.move_leader(
        to=next(id for id in state.replicas if id not in (state.leader, partition.bench.id_of(node.node)))
    )
    fenced = [session.ask() for _ in range(1 + rereads)]
    yield held_if(all(is_fenced(requested_partition(answer)) for answer in fenced), *fenced)


@probe(
    "KIP320-FETCH-11", rig=fresh_partition(), cases=["truncated"], records=RECORDS, rereads=integers(0, 2), back=BACK
)
def session_reports_a_truncation(partition: Partition, records: int, rereads: int, back: int) -> Claims:
    """A cached partition whose log is truncated below the position is in every answer from then on."""
    version = choose_version(partition.bench, "Fetch", back, low=DIVERGES_FROM)
    with suffix_to_truncate(partition, records) as suffix:
        session = Session(partition, suffix.node, version, FUTURE_REPLICA)
        opened = requested_partition(session.ask(suffix.end, last=suffix.epoch))
        quiet = session.ask()
    yield suffix.is_replaced(partition)
    stood = opened is not None and opened.error is Error.NONE and opened.diverging_epoch is None
    yield premise(stood and quiet.partitions == (), f"a session at the log end: {say(opened)}, {quiet}")
    answers = [session.ask() for _ in range(1 + rereads)]
    found = [requested_partition(answer) for answer in answers]
    held = all(one is not None and diverges_at(one, suffix.epoch, suffix.start) for one in found)
    yield held_if(held, *answers)


def diverging(
    session: Session, log: FetchedLog, current: int, past: int, rereads: int, case: str = "diverging"
) -> Claims:
    """Check that the partition, sent with an ended epoch as LastFetchedEpoch, diverges in this answer and the next."""
    epoch = log.ended_epochs()[0]
    offset = log.end_of(epoch) + past
    answers = [session.ask(offset, current, epoch), *(session.ask() for _ in range(1 + rereads))]
    found = [requested_partition(answer) for answer in answers]
    held = all(one is not None and diverges_at(one, epoch, log.end_of(epoch)) for one in found)
    yield held_if(held, *answers, case=case)


def is_fenced(found: FetchedPartition | None) -> bool:
    return found is not None and found.error is Error.FENCED_LEADER_EPOCH and not found.batches
