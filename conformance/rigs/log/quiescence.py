"""Quiescence at the end of a machine's example or a scenario: faults healed, replicas converged, every log read."""

from collections.abc import Sequence

import msgspec

from conformance.judging.facts.log import FUTURE_REPLICA
from conformance.judging.timeline import AT_REST, CONVERGENCE_TIMEOUT, HEALED
from conformance.rigs.log.partition import Partition
from fixtures.wire import NodeClient, WireError
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import EARLIEST, LATEST, FetchedPartition, FetchOptions

DEBUGGING_CONSUMER = -2
"""The replica id of a client that can read any replica's whole log, even before a new leader has a high watermark."""
WHOLE_BYTES = 64 * 1024 * 1024
"""Maximum bytes of one partition in an answer: far more than any log of a check, so that one fetch returns it all."""


def at_rest(*partitions: Partition) -> bool:
    """True if all replicas converge in time. Reads the data for the judges from the wire and from disk.

    Call it when everything is healed and writes have ended. Replicas that do not converge in time are a finding
    (KIP101-INV-18), not an error; their logs are read all the same.
    """
    bench = partitions[0].bench
    bench.tape.premise(HEALED, not bench.remaining_damage())
    met = (
        bench.wait.becomes_true(lambda: _brokers_agree(partitions), "all replicas agree", CONVERGENCE_TIMEOUT).outcome
        is True
    )
    bench.tape.premise(AT_REST, met)
    hosts = {str(one): [bench.name_of(id) for id in sorted(read_all_logs(one).replicas)] for one in partitions}
    bench.replicas(hosts)
    return met


def read_whole(partition: Partition, node: NodeClient, epoch: int, last_fetched_epoch: int = -1) -> FetchedPartition:
    """Return all records of a replica, including its uncommitted suffix, as one answer.

    A Fetch returns at most the rest of one segment, so fetches are repeated until one returns nothing. Each names the
    last batch's epoch, so that a log truncated meanwhile answers a diverging epoch instead of mixing two histories; a
    replica without a leader epoch cache gets fetches without one.
    """
    start = log_start(partition, node)
    answer = _read_on(partition, node, epoch, start, last_fetched_epoch)
    batches = answer.batches
    while answer.batches:
        offset, last = batches[-1].last_offset + 1, batches[-1].leader_epoch
        answer = _read_on(partition, node, epoch, offset, last)
        if answer.error is Error.OFFSET_OUT_OF_RANGE:
            answer = _read_on(partition, node, epoch, offset, -1)
        batches += answer.batches
    return msgspec.structs.replace(answer, batches=batches)


def log_start(partition: Partition, node: NodeClient) -> int:
    """Return the log start offset of any replica; 0 if it answers with none."""
    return max(0, node.list_offsets(partition.name, partition.index, EARLIEST, replica_id=DEBUGGING_CONSUMER).offset)


def _read_on(partition: Partition, node: NodeClient, epoch: int, offset: int, last: int) -> FetchedPartition:
    return node.fetch(
        partition.fetch_from(
            offset, current_leader_epoch=epoch, last_fetched_epoch=last, partition_max_bytes=WHOLE_BYTES
        ),
        FetchOptions(replica_id=FUTURE_REPLICA),
    )


def read_all_logs(partition: Partition) -> PartitionMetadata:
    """Read every replica's log, its consumer-visible part, and the leader's epoch end offsets; return the state."""
    state = partition.state_by()
    for id in state.replicas:
        node = partition.bench.node(id)
        start = read_whole(partition, node, state.leader_epoch).log_start_offset
        node.fetch(partition.fetch_from(max(0, start), current_leader_epoch=state.leader_epoch))
    if state.leader >= 0:
        _read_ends(partition, partition.bench.node(state.leader), state.leader_epoch)
    return state


def _read_ends(partition: Partition, leader: NodeClient, current: int) -> None:
    """Look up all epochs from -2 to two above the current one by OffsetForLeaderEpoch (KIP320-OFLE-08), and the log's
    start and end."""
    for epoch in range(-2, current + 3):
        leader.offset_for_leader_epoch(partition.name, partition.index, epoch, current_leader_epoch=current)
    leader.list_offsets(partition.name, partition.index, EARLIEST, current_leader_epoch=current)
    leader.list_offsets(partition.name, partition.index, LATEST, current_leader_epoch=current)


def _brokers_agree(partitions: Sequence[Partition]) -> bool:
    """True if each partition has the same state at every broker, a full ISR, and one log end that equals every
    replica's high watermark.

    A leader's log start offset may be below that of a follower that has executed DeleteRecords, but not above it.
    """
    bench, names = partitions[0].bench, sorted({partition.name for partition in partitions})
    try:
        answers = [bench.node(broker).metadata(names) for broker in bench.brokers]
        states = {one: [answer.topic(one.name).partition(one.index) for answer in answers] for one in partitions}
        return all(map(_is_full, states.values())) and all(_ends_agree(one, seen[0]) for one, seen in states.items())
    except WireError:
        return False


def _ends_agree(partition: Partition, state: PartitionMetadata) -> bool:
    answers = {id: read_whole(partition, partition.bench.node(id), state.leader_epoch) for id in state.replicas}
    seen = {(a.error, a.high_watermark, _log_end(a)) for a in answers.values()}
    same = len(seen) == 1 and all(a.error is Error.NONE and a.high_watermark == _log_end(a) for a in answers.values())
    led = answers.get(state.leader)
    return same and led is not None and all(a.log_start_offset >= led.log_start_offset for a in answers.values())


def _is_full(states: Sequence[PartitionMetadata]) -> bool:
    first = states[0]
    same = len({(s.leader, s.leader_epoch, frozenset(s.isr)) for s in states}) == 1
    return same and first.leader >= 0 and set(first.isr) == set(first.replicas)


def _log_end(answer: FetchedPartition) -> int:
    """Return the log end offset of a full-log read; for an empty log, its high watermark."""
    return answer.batches[-1].last_offset + 1 if answer.batches else answer.high_watermark
