"""OffsetForLeaderEpoch: the leader's epoch end offsets (KIP-101), and the fencing of the request (KIP-320)."""

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.epoch_requests import ENDS_FENCED_FROM, ends_epoch, is_refusal, same_leader_and_epoch
from conformance.rigs.log.lagging_watermark import watermark_behind
from conformance.rigs.log.partition import Partition, fresh_partition, partition_at_epoch
from conformance.rigs.log.replica_log import replica_log
from conformance.rigs.versions import BACK, choose_version
from protocol.codes import Error
from protocol.log import DEBUGGER, LATEST, EpochEnd
from protocol.since import since
from strategies.inputs import EPOCHS_AHEAD, EPOCHS_BACK, RECORDS, near_or_far

API = "OffsetForLeaderEpoch"
ANSWERS_EPOCH_FROM = since("OffsetForLeaderEpochResponse", "LeaderEpoch")


@probe("KIP320-OFLE-01", rig=fresh_partition(), cases=["empty"], records=RECORDS, back=BACK)
def current_epoch_ends_at_log_end(partition: Partition, records: int, back: int) -> Claims:
    """The current epoch ends at the log end: before its first write where the previous one ended, then further on."""
    version = choose_version(partition.bench, API, back, low=ENDS_FENCED_FROM)
    before = partition.epoch()
    state = partition.move_leader()
    node = partition.bench.node(state.leader)
    moved_at = node.list_offsets(partition.name, 0, LATEST, replica_id=DEBUGGER).offset
    empty = node.offset_for_leader_epoch(partition.name, 0, state.leader_epoch, version=version)
    previous = node.offset_for_leader_epoch(partition.name, 0, before, version=version)
    written = partition.write(*(f"{n}".encode() for n in range(records)), to=node)
    after = node.offset_for_leader_epoch(partition.name, 0, state.leader_epoch, version=version)
    yield same_leader_and_epoch(partition, state)
    yield premise(written.base_offset == moved_at, f"written at the log end {moved_at}: {written}")
    as_previous = ends_epoch(empty, state.leader_epoch, moved_at) and ends_epoch(previous, before, moved_at)
    yield held_if(as_previous, empty, previous, case="empty")
    yield held_if(ends_epoch(after, state.leader_epoch, moved_at + records), after, case="written")


@probe("KIP320-OFLE-01", rig=fresh_partition(), cases=["above-watermark"], records=RECORDS, back=BACK)
def high_watermark_does_not_bound_the_end(partition: Partition, records: int, back: int) -> Claims:
    """The current epoch ends at the log end even while the high watermark is below it, for consumers and replicas alike."""
    version = choose_version(partition.bench, API, back, low=ENDS_FENCED_FROM)
    with watermark_behind(partition, records) as behind:
        answer = behind.leader.offset_for_leader_epoch(
            partition.name, 0, behind.epoch, current_leader_epoch=behind.epoch, version=version
        )
        still = behind.premise_of_lag(partition)
    yield still
    yield held_if(ends_epoch(answer, behind.epoch, behind.end), answer)


@probe(
    "KIP320-OFLE-02", rig=partition_at_epoch(3), cases=["older"], which=integers(0, 2), with_epoch=booleans(), back=BACK
)
def older_epoch_ends_where_next_starts(partition: Partition, which: int, with_epoch: bool, back: int) -> Claims:
    """An older epoch ends at the first offset with a later leader epoch."""
    state = partition.await_agreement()
    node = partition.bench.node(state.leader)
    log = replica_log(partition, node)
    epoch = log.ended_epochs()[which]
    answer = node.offset_for_leader_epoch(
        partition.name,
        0,
        epoch,
        current_leader_epoch=state.leader_epoch if with_epoch else -1,
        version=choose_version(partition.bench, API, back, low=ENDS_FENCED_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    yield held_if(ends_epoch(answer, epoch, log.end_of(epoch)), answer)


@probe("KIP320-OFLE-05", rig=partition_at_epoch(3), ahead=near_or_far(2**30), with_epoch=booleans(), back=BACK)
def unknown_epoch_has_no_end(partition: Partition, case: str, ahead: int, with_epoch: bool, back: int) -> Claims:
    """For an epoch above the newest, and for -1, the answer is error 0 with epoch and offset -1."""
    state = partition.await_agreement()
    answer = partition.bench.node(state.leader).offset_for_leader_epoch(
        partition.name,
        0,
        -1 if case == "sentinel" else state.leader_epoch + ahead,
        current_leader_epoch=state.leader_epoch if with_epoch else -1,
        version=choose_version(partition.bench, API, back, low=ENDS_FENCED_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    yield held_if(ends_epoch(answer, -1, -1), answer)


@probe(
    "KIP320-OFLE-06",
    rig=partition_at_epoch(3),
    which=integers(0, 2),
    epochs_back=EPOCHS_BACK,
    ahead=EPOCHS_AHEAD,
    back=BACK,
)
def current_epoch_fences_the_lookup(
    partition: Partition, case: str, which: int, epochs_back: int, ahead: int, back: int
) -> Claims:
    """A lookup with an older or newer current epoch is refused without an offset; otherwise it is answered."""
    state = partition.await_agreement()
    node = partition.bench.node(state.leader)
    log = replica_log(partition, node)
    asked = log.ended_epochs()[which]
    own = state.leader_epoch
    low, high = (0, ENDS_FENCED_FROM - 1) if case == "unversioned" else (ENDS_FENCED_FROM, None)
    version = choose_version(partition.bench, API, back, low=low, high=high)
    sent = {"older": [own - epochs_back, -2], "newer": [own + ahead], "equal": [own]}.get(case, [-1])
    answers = [
        node.offset_for_leader_epoch(partition.name, 0, asked, current_leader_epoch=epoch, version=version)
        for epoch in sent
    ]
    yield same_leader_and_epoch(partition, state)
    for answer in answers:
        yield held_if(as_fenced(case, answer, asked, log.end_of(asked)), answer)


def as_fenced(case: str, answer: EpochEnd, epoch: int, end: int) -> bool:
    if case == "older":
        return is_refusal(answer, Error.FENCED_LEADER_EPOCH)
    if case == "newer":
        return is_refusal(answer, Error.UNKNOWN_LEADER_EPOCH)
    return ends_epoch(answer, epoch if answer.version >= ANSWERS_EPOCH_FROM else -1, end)
