"""DeleteRecords: epoch lookups on a log with a raised start, and requests that are refused (KIP-107 with KIP-101's cache)."""

from collections.abc import Generator

from hypothesis.strategies import booleans, integers, just

from conformance.core.bench import Bench
from conformance.core.checks import Claim, Claims, Rig, held_if, kept_if, probe
from conformance.core.topologies import CLUSTER
from conformance.rigs.log.epoch_histories import RaisedStart, RaisedStartPartitions, trimmed_to
from conformance.rigs.log.epoch_requests import (
    DIVERGES_FROM,
    ENDS_FENCED_FROM,
    TRIMMED,
    diverges_at,
    ends_epoch,
    out_of_range,
    same_leader_and_epoch,
    sender_for,
    start_of,
)
from conformance.rigs.log.lagging_watermark import watermark_behind
from conformance.rigs.log.partition import Partition, PartitionData, fresh_partition, new_partition
from conformance.rigs.versions import BACK, choose_version
from protocol.codes import Error
from protocol.log import EARLIEST, DeletedRecords, ListedOffset
from protocol.records import NewBatch, NewRecord
from protocol.since import since
from strategies.inputs import RECORDS

LISTS_EPOCH_FROM = since("ListOffsetsRequest", "CurrentLeaderEpoch")


def earliest_is(
    expected: int, one: RaisedStart, with_epoch: bool, back: int
) -> Generator[Claim, None, tuple[bool, ListedOffset]]:
    """Look up the earliest offset; return whether it is `expected`, with the epoch that covers it, and the answer."""
    node, _, state = sender_for(one.partition, "consumer")
    answer = node.list_offsets(
        one.partition.name,
        0,
        EARLIEST,
        current_leader_epoch=state.leader_epoch if with_epoch else -1,
        version=choose_version(one.partition.bench, "ListOffsets", back, low=LISTS_EPOCH_FROM),
    )
    yield same_leader_and_epoch(one.partition, state)
    return (answer.error, answer.offset, answer.leader_epoch) == (Error.NONE, expected, one.first_kept), answer


@probe(
    "KIP320-DR-01",
    "KIP320-LO-02",
    rig=TRIMMED,
    cases=["earliest"],
    number=integers(0, 2),
    with_epoch=booleans(),
    back=BACK,
)
def earliest_offset_is_the_new_start(
    trimmed: RaisedStartPartitions, number: int, with_epoch: bool, back: int
) -> Claims:
    """The earliest offset is the new log start, with the epoch that covers it."""
    one = trimmed.one(number)
    held, answer = yield from earliest_is(one.start, one, with_epoch, back)
    yield held_if(held, answer)
    yield held_if(held, answer, row="KIP320-LO-02", case="trimmed")


@probe(
    "KIP320-DR-01",
    "KIP320-OFLE-04",
    rig=TRIMMED,
    cases=["lookup"],
    number=integers(0, 2),
    which=integers(0, 1),
    back=BACK,
)
def deleted_epoch_ends_at_the_first_entry(trimmed: RaisedStartPartitions, number: int, which: int, back: int) -> Claims:
    """A deleted epoch ends where the first entry starts, and the answer keeps its number."""
    one = trimmed.one(number)
    node, _, state = sender_for(one.partition, "consumer")
    epoch = one.purged_epochs[which % len(one.purged_epochs)]
    version = choose_version(one.partition.bench, "OffsetForLeaderEpoch", back, low=ENDS_FENCED_FROM)
    answer = node.offset_for_leader_epoch(one.partition.name, 0, epoch, version=version)
    yield same_leader_and_epoch(one.partition, state)
    yield held_if(ends_epoch(answer, epoch, one.start), answer)
    yield held_if(ends_epoch(answer, epoch, one.start), answer, row="KIP320-OFLE-04", case="trimmed")


@probe(
    "KIP320-DR-01",
    rig=TRIMMED,
    cases=["below-start", "purged-last"],
    number=integers(0, 2),
    which=integers(0, 3),
    distance=integers(1, 4),
    back=BACK,
)
def log_with_a_raised_start_is_fetched(
    trimmed: RaisedStartPartitions, case: str, number: int, which: int, distance: int, back: int
) -> Claims:
    """Below the log start a fetch is out of range with any last epoch; above it a deleted epoch diverges at the log start."""
    one = trimmed.one(number)
    node, _, state = sender_for(one.partition, "consumer")
    below = case == "below-start"
    last = [*one.epochs, -1][which] if below else one.purged_epochs[which % len(one.purged_epochs)]
    answer = node.fetch(
        one.partition.fetch_from(
            one.start - distance if below else one.start + distance,
            current_leader_epoch=state.leader_epoch,
            last_fetched_epoch=last,
        ),
        version=choose_version(one.partition.bench, "Fetch", back, low=DIVERGES_FROM),
    )
    yield same_leader_and_epoch(one.partition, state)
    yield held_if(out_of_range(answer) if below else diverges_at(answer, last, one.start), answer)


@probe("KIP320-DR-01", rig=trimmed_to(9), cases=["everything"], which=integers(0, 1), with_epoch=booleans(), back=BACK)
def full_deletion_keeps_the_current_epoch(
    trimmed: RaisedStartPartitions, which: int, with_epoch: bool, back: int
) -> Claims:
    """After deletion up to the log end the current epoch still ends there, and so does a deleted one."""
    one = trimmed.one(0)
    node, _, state = sender_for(one.partition, "consumer")
    version = choose_version(one.partition.bench, "OffsetForLeaderEpoch", back, low=ENDS_FENCED_FROM)
    sent = state.leader_epoch if with_epoch else -1
    epochs = (state.leader_epoch, one.purged_epochs[which])
    current, purged = (
        node.offset_for_leader_epoch(one.partition.name, 0, epoch, current_leader_epoch=sent, version=version)
        for epoch in epochs
    )
    yield same_leader_and_epoch(one.partition, state)
    held = ends_epoch(current, state.leader_epoch, one.end) and ends_epoch(purged, epochs[1], one.end)
    yield held_if(held, current, purged)


@probe("KIP320-DR-01", rig=trimmed_to(9), cases=["everything"], with_epoch=booleans(), back=BACK)
def earliest_offset_of_an_empty_log(trimmed: RaisedStartPartitions, with_epoch: bool, back: int) -> Claims:
    """After deletion up to the log end the earliest offset is the log end, still with the current epoch."""
    one = trimmed.one(0)
    held, answer = yield from earliest_is(one.end, one, with_epoch, back)
    yield held_if(held, answer)


# --- refused deletions


def refused_unchanged(answer: DeletedRecords, error: Error, before: ListedOffset, after: ListedOffset) -> bool:
    """True if the deletion got this error, and the log start is unchanged."""
    return answer.error is error and before.offset == after.offset


@probe(
    "KIP320-DR-03",
    rig=fresh_partition(),
    cases=["above-watermark"],
    records=RECORDS,
    above=integers(0, 9),
    back=BACK,
)
def deletion_above_the_high_watermark_is_refused(partition: Partition, records: int, above: int, back: int) -> Claims:
    """Neither uncommitted records nor offsets past the log end can be deleted."""
    version = choose_version(partition.bench, "DeleteRecords", back, low=0)
    with watermark_behind(partition, records) as behind:
        before = start_of(partition, behind.leader)
        offset = behind.watermark + 1 + above
        answer = behind.leader.delete_records(partition.name, 0, offset, version=version)
        after = start_of(partition, behind.leader)
        still = behind.premise_of_lag(partition)
    yield still
    yield held_if(refused_unchanged(answer, Error.OFFSET_OUT_OF_RANGE, before, after), answer, after)


@probe(
    "KIP320-DR-03",
    rig=TRIMMED,
    cases=["negative", "follower"],
    number=integers(0, 2),
    offset=integers(0, 100),
    back=BACK,
)
def misplaced_deletion_is_refused(
    trimmed: RaisedStartPartitions, case: str, number: int, offset: int, back: int
) -> Claims:
    """An offset below -1 is out of range, and a follower deletes nothing."""
    partition = trimmed.one(number).partition
    node, _, state = sender_for(partition, "follower" if case == "follower" else "consumer")
    before = start_of(partition, node)
    asked = -2 - offset if case == "negative" else offset % 10
    answer = node.delete_records(
        partition.name, 0, asked, version=choose_version(partition.bench, "DeleteRecords", back, low=0)
    )
    after = start_of(partition, node)
    yield same_leader_and_epoch(partition, state)
    expected = Error.OFFSET_OUT_OF_RANGE if case == "negative" else Error.NOT_LEADER_OR_FOLLOWER
    yield held_if(refused_unchanged(answer, expected, before, after), answer, after)


def keyed_partition(policy: str) -> Rig[PartitionData, Partition]:
    """Return a rig with a partition on one broker, with this cleanup.policy, and six records with keys."""

    def prepare(bench: Bench) -> PartitionData:
        partition = new_partition(bench, (bench.id_of(bench.brokers[0]),), cleanup_policy=policy)
        partition.append(NewBatch(tuple(NewRecord(b"value", key=f"key {n}".encode()) for n in range(6))))
        return PartitionData(partition.topic, 0)

    return Rig(CLUSTER, prepare, Partition, name=f"keyed_partition_{policy}")


def delete_as_drawn(partition: Partition, offset: int, back: int) -> tuple[DeletedRecords, ListedOffset, ListedOffset]:
    """Delete records at the leader; return its answer, and its log start before and after."""
    node = partition.leader()
    before = start_of(partition, node)
    version = choose_version(partition.bench, "DeleteRecords", back, low=0)
    answer = node.delete_records(partition.name, 0, offset, version=version)
    return answer, before, start_of(partition, node)


@probe("KIP320-DR-03", rig=keyed_partition("compact"), cases=["compact"], offset=integers(1, 6) | just(-1), back=BACK)
def compacted_topic_refuses_deletion(partition: Partition, offset: int, back: int) -> Claims:
    """With cleanup.policy=compact every DeleteRecords is refused."""
    answer, before, after = delete_as_drawn(partition, offset, back)
    yield held_if(refused_unchanged(answer, Error.POLICY_VIOLATION, before, after), answer, after)


@probe(
    "KIP320-DR-03",
    "KIP320-DR-03-L",
    rig=keyed_partition(""),
    cases=["empty-policy"],
    offset=integers(1, 6) | just(-1),
    back=BACK,
)
def empty_policy_allows_or_refuses_deletion(partition: Partition, expected: str, offset: int, back: int) -> Claims:
    """An empty cleanup.policy forbids DeleteRecords up to 4.1, and allows it from 4.2."""
    answer, before, after = delete_as_drawn(partition, offset, back)
    deleted = answer.error is Error.NONE and after.offset == (6 if offset == -1 else offset)
    held = deleted if expected == "NONE" else refused_unchanged(answer, Error[expected], before, after)
    yield held_if(held, answer, after)
    yield kept_if("KIP320-DR-03-L", deleted, answer, after)
