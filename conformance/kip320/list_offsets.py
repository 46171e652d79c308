"""ListOffsets: the leader epoch of a returned offset, and the fencing of the request (KIP-320, ListOffsets)."""

from hypothesis.strategies import booleans, integers, sampled_from

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise, probe
from conformance.core.topologies import CLUSTER
from conformance.rigs.log.epoch_requests import FENCED_APIS_FROM, is_refusal, same_leader_and_epoch, sender_for
from conformance.rigs.log.partition import Partition, PartitionData, fresh_partition, new_partition, partition_at_epoch
from conformance.rigs.log.quiescence import read_whole
from conformance.rigs.log.replica_log import replica_log
from conformance.rigs.log.rotation import quick_partition
from conformance.rigs.producers.transactions import FirstTransaction
from conformance.rigs.versions import BACK, choose_version
from fixtures.faults.kinds.shapes import Isolate
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import (
    CONSUMER,
    DEBUGGER,
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    ListedOffset,
)
from protocol.records import NewBatch, NewRecord
from protocol.since import since
from protocol.words import say
from strategies.inputs import EPOCHS_AHEAD, EPOCHS_BACK, RECORDS

API = "ListOffsets"
EPOCH_FROM = FENCED_APIS_FROM["list-offsets"]
MAX_TIMESTAMP_FROM = since("ListOffsets", "MAX_TIMESTAMP")
STEP_MS = 1000
A_MINUTE_MS = 60_000
"""The distance of timestamps from now in milliseconds. They are recent, since retention removes records of 1970."""


def is_listed(answer: ListedOffset, offset: int, epoch: int) -> bool:
    return (answer.error, answer.offset, answer.leader_epoch) == (Error.NONE, offset, epoch)


def timed_batch(first: int, *steps: int) -> NewBatch:
    """Return a batch with a record for each step, timestamped that many STEP_MS after `first`."""
    return NewBatch(tuple(NewRecord(f"{n}".encode(), timestamp=first + n * STEP_MS) for n in steps))


# --- latest


@probe("KIP320-LO-01", rig=fresh_partition(), cases=["high-watermark"], records=RECORDS, back=BACK)
def latest_offset_carries_the_current_epoch(partition: Partition, records: int, back: int) -> Claims:
    """The latest offset has the leader's epoch even before its first record, up to the high watermark or stable offset."""
    transaction = FirstTransaction(partition.bench)
    transaction.enter(partition)
    stable = transaction.write(partition, *(b"pending" for _ in range(records))).base_offset
    state = partition.move_leader()
    node = partition.bench.node(state.leader)
    log = replica_log(partition, node)
    version = choose_version(partition.bench, API, back, low=EPOCH_FROM)
    limits = [
        node.list_offsets(partition.name, 0, LATEST, isolation_level=level, version=version)
        for level in (READ_UNCOMMITTED, READ_COMMITTED)
    ]
    still_open = node.fetch(partition.fetch_from(0))
    transaction.end(committed=False)
    yield same_leader_and_epoch(partition, state)
    yield premise(
        state.leader_epoch not in log.epoch_starts, f"epoch {state.leader_epoch} had no record: {say(log.epoch_starts)}"
    )
    yield premise(still_open.last_stable_offset == stable < log.end, f"open from {stable}: {still_open}")
    yield held_if(is_listed(limits[0], log.end, state.leader_epoch), limits[0])
    yield held_if(is_listed(limits[1], stable, state.leader_epoch), limits[1], case="last-stable-offset")


# --- earliest


@probe("KIP320-LO-02", rig=partition_at_epoch(3), cases=["untrimmed"], with_epoch=booleans(), back=BACK)
def earliest_offset_carries_its_own_epoch(partition: Partition, with_epoch: bool, back: int) -> Claims:
    """After leader changes the earliest offset has the epoch of the record there, not the current one."""
    node, _, state = sender_for(partition, "consumer")
    log = replica_log(partition, node)
    answer = node.list_offsets(
        partition.name,
        0,
        EARLIEST,
        current_leader_epoch=state.leader_epoch if with_epoch else -1,
        version=choose_version(partition.bench, API, back, low=EPOCH_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    yield held_if(is_listed(answer, log.start, min(log.epoch_starts)), answer)


# --- by timestamp


def _with_timestamps(bench: Bench) -> PartitionData:
    partition = new_partition(bench)
    first = bench.now().unix_ms - A_MINUTE_MS
    for steps in ((0, 1, 2), (3, 4, 5), (6, 7, 8)):
        partition.append(timed_batch(first, *steps))
        partition.move_leader()
    return PartitionData(partition.topic, 0)


TIMED = Rig(CLUSTER, _with_timestamps, Partition, shared=True)
"""Three epochs of three records, STEP_MS apart, and a current epoch without any."""


@probe(
    "KIP320-LO-03", rig=TIMED, which=integers(0, 8), off=integers(0, STEP_MS - 1), later=integers(1, 10**6), back=BACK
)
def timestamp_lookup_carries_the_records_epoch(
    partition: Partition, case: str, which: int, off: int, later: int, back: int
) -> Claims:
    """A timestamp leads to the first record that reaches it, with its epoch; past the last one to nothing."""
    node, _, state = sender_for(partition, "consumer")
    log = replica_log(partition, node)
    stamped = [(record, batch.leader_epoch) for batch in log.batches for record in batch.records]
    record, epoch = stamped[which]
    asked = record.timestamp - off if case == "hit" else stamped[-1][0].timestamp + later
    version = choose_version(partition.bench, API, back, low=EPOCH_FROM)
    answer = node.list_offsets(partition.name, 0, asked, version=version)
    yield same_leader_and_epoch(partition, state)
    found = is_listed(answer, record.offset, epoch) and answer.timestamp == record.timestamp
    yield held_if(found if case == "hit" else is_listed(answer, -1, -1), answer)


@probe(
    "KIP320-LO-04",
    rig=fresh_partition(records=1),
    cases=["empty-epoch"],
    order=sampled_from([(0, 1, 2), (0, 2, 1), (2, 0, 1)]),
    ahead=integers(1, 50),
    back=BACK,
)
def largest_timestamp_carries_the_records_epoch(
    partition: Partition, order: tuple[int, ...], ahead: int, back: int
) -> Claims:
    """The record with the largest timestamp has the epoch of its batch, whatever was written since."""
    before, first = partition.epoch(), partition.bench.now().unix_ms + A_MINUTE_MS
    written = partition.append(timed_batch(first, *(ahead + n for n in order)))
    state = partition.move_leader()
    node = partition.bench.node(state.leader)
    version = choose_version(partition.bench, API, back, low=MAX_TIMESTAMP_FROM)
    stamps_then = set(replica_log(partition, node).epoch_starts)
    empty = node.list_offsets(partition.name, 0, MAX_TIMESTAMP, version=version)
    partition.append(timed_batch(first, 0, 0), to=node)
    stamps = set(replica_log(partition, node).epoch_starts)
    later = node.list_offsets(partition.name, 0, MAX_TIMESTAMP, version=version)
    yield same_leader_and_epoch(partition, state)
    as_written = stamps_then == {before} and stamps == {before, state.leader_epoch}
    yield premise(
        as_written, f"epoch {state.leader_epoch} without and then with records: {say(stamps_then)}, {say(stamps)}"
    )
    for answer, where in ((empty, "empty-epoch"), (later, "written-epoch")):
        found = is_listed(answer, written.base_offset + order.index(2), before)
        yield held_if(found and answer.timestamp == first + (ahead + 2) * STEP_MS, answer, case=where)


# --- the fence


@probe(
    "KIP320-LO-05",
    rig=partition_at_epoch(3),
    cases=["older", "newer", "served"],
    timestamp=sampled_from([LATEST, EARLIEST, 0]),
    epochs_back=EPOCHS_BACK,
    ahead=EPOCHS_AHEAD,
    back=BACK,
)
def current_epoch_fences_list_offsets(
    partition: Partition, case: str, timestamp: int, epochs_back: int, ahead: int, back: int
) -> Claims:
    """The leader refuses an older and a newer epoch, even -2, and answers with its own epoch or none."""
    node, _, state = sender_for(partition, "consumer")
    log = replica_log(partition, node)
    own = state.leader_epoch
    sent = {"older": [own - epochs_back, -2], "newer": [own + ahead], "served": [own, -1]}[case]
    version = choose_version(partition.bench, API, back, low=EPOCH_FROM)
    answers = [
        node.list_offsets(partition.name, 0, timestamp, current_leader_epoch=epoch, version=version) for epoch in sent
    ]
    yield same_leader_and_epoch(partition, state)
    error = Error.FENCED_LEADER_EPOCH if case == "older" else Error.UNKNOWN_LEADER_EPOCH
    expected = (log.end, own) if timestamp == LATEST else (log.start, min(log.epoch_starts))
    for answer in answers:
        yield held_if(is_listed(answer, *expected) if case == "served" else is_refusal(answer, error), answer)


@probe("KIP320-LO-05", rig=partition_at_epoch(3), cases=["follower", "debug-replica"], with_epoch=booleans(), back=BACK)
def follower_answers_the_debugging_replica_only(partition: Partition, case: str, with_epoch: bool, back: int) -> Claims:
    """A follower refuses a consumer, but answers replica id -2 with its own log end."""
    node, _, state = sender_for(partition, "follower")
    log = replica_log(partition, partition.bench.node(state.leader))
    answer = node.list_offsets(
        partition.name,
        0,
        LATEST,
        current_leader_epoch=state.leader_epoch if with_epoch else -1,
        replica_id=DEBUGGER if case == "debug-replica" else CONSUMER,
        version=choose_version(partition.bench, API, back, low=EPOCH_FROM),
    )
    yield same_leader_and_epoch(partition, state)
    served = answer.error is Error.NONE and answer.offset == log.end
    yield held_if(served if case == "debug-replica" else is_refusal(answer, Error.NOT_LEADER_OR_FOLLOWER), answer)


def log_end(partition: Partition, node: NodeClient) -> int:
    """Return the offset after the last batch of the replica's full log."""
    return read_whole(partition, node, -1).batches[-1].last_offset + 1


@probe("KIP320-LO-05", rig=quick_partition(0), cases=["own-log-end"], records=RECORDS, back=BACK)
def isolated_follower_answers_its_own_log_end(partition: Partition, records: int, back: int) -> Claims:
    """A follower that is cut off from its leader's new records answers replica id -2 with the end of its own log."""
    bench, state = partition.bench, partition.wait_until_whole()
    leader, epoch = bench.node(state.leader), state.leader_epoch
    version = choose_version(bench, API, back, low=EPOCH_FROM)
    with bench.faults(partition.topic).standing_fault(Isolate(role="follower")) as injected:
        follower = bench.node(injected.nodes[0])
        partition.write(*[b"on the leader only"] * records, acks=1, to=leader)
        before = log_end(partition, follower)
        answers = [
            follower.list_offsets(
                partition.name, 0, LATEST, current_leader_epoch=sent, replica_id=DEBUGGER, version=version
            )
            for sent in (epoch, -1)
        ]
        ends = before, log_end(partition, follower), log_end(partition, leader)
    yield premise(ends[0] == ends[1] < ends[2], f"a follower that ends at {say(ends[:2])}, and its leader at {ends[2]}")
    for answer in answers:
        yield held_if((answer.error, answer.offset) == (Error.NONE, ends[0]), answer)
