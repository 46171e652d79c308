"""A new replica that fetches before its leader knows of it: it must retry, and copy log and leader epoch cache
(KIP101-SC-12)."""

from hypothesis.strategies import integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise
from conformance.core.topologies import CLUSTER
from conformance.core.waiting import Settled
from conformance.judging.timeline import CONVERGENCE_TIMEOUT
from conformance.rigs.log.epoch_checkpoint import entries_of, read_epochs
from conformance.rigs.log.partition import Boundary, Partition, PartitionData, new_partition
from conformance.rigs.log.quiescence import at_rest, read_whole
from conformance.rigs.log.rotation import RECORDS
from conformance.rigs.log.scenarios import log_scenario
from fixtures.faults.kinds.frames import Delay
from fixtures.wire import NodeClient
from history.readings import File
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import FetchedPartition, FetchOptions
from protocol.words import say

SLOW_MS = 200
"""Milliseconds of delay of every frame between leader and controller; heartbeats still arrive in time, even over a new
connection."""


def on_two_of_three(bench: Bench) -> PartitionData:
    """Create a partition on all brokers but the last, and write records in three epochs."""
    first, second, _ = (bench.id_of(name) for name in bench.brokers)
    partition = new_partition(bench, (first, second), min_insync_replicas="1")
    for move in range(3):
        if move:
            partition.move_leader()
        partition.write(*[b"to be copied"] * RECORDS)
    return PartitionData(partition.topic, 0)


TO_BE_COPIED = Rig(CLUSTER, on_two_of_three, Partition)


def assign_new_replica(partition: Partition, state: PartitionMetadata, added: int) -> None:
    """Assign the new replica, whose link to the controller is fast, and wait until its broker knows of it."""
    partition.assign(*state.replicas, added, by=partition.bench.node(added))
    partition.bench.eventually(lambda: knows_itself(partition, added), f"{added} a replica of {partition.name}")


def knows_itself(partition: Partition, added: int) -> bool:
    state = partition.state_known_to(added)
    return state is not None and added in state.replicas


def first_fetch_of(partition: Partition, leader: NodeClient, added: int, epoch: int) -> FetchedPartition:
    """Send the new replica's first fetch to the leader."""
    return leader.fetch(partition.fetch_from(0, current_leader_epoch=epoch), FetchOptions(replica_id=added))


def joins_under_writes(partition: Partition, leader: NodeClient, added: int) -> Settled:
    """Return whether the new replica joins the ISR during consecutive writes with acks=all."""

    def written_and_joined() -> bool:
        partition.write(b"meanwhile", to=leader)
        state = partition.state_known_to(leader.node)
        return state is not None and added in state.isr

    return partition.bench.wait.becomes_true(written_and_joined, f"{added} in the ISR", CONVERGENCE_TIMEOUT)


# --- the leader epoch cache


def with_records(file: File, epochs: set[int]) -> tuple[Boundary, ...]:
    """Return a checkpoint's entries for epochs with records."""
    return tuple(entry for entry in entries_of(file) or () if entry.epoch in epochs)


def equivalent_cache(partition: Partition, leader: NodeClient, added: int, epoch: int) -> Claims:
    """Check CACHE-07: the new replica has exactly the leader's entries for epochs that still have records."""
    epochs = {batch.leader_epoch for batch in read_whole(partition, leader, epoch).batches}
    leading = read_epochs(partition, partition.bench.id_of(leader.node), lambda file: bool(entries_of(file)))
    expected = with_records(leading, epochs)
    yield premise(len(expected) == len(epochs) > 1, f"the leader's cache holds the {len(epochs)} epochs with records")
    file = read_epochs(partition, added, lambda file: entries_of(file) == expected)
    detail = f"{added} holds {say(entries_of(file))}, the leader {say(entries_of(leading))}, records are of {say(sorted(epochs))}"
    yield held_if(entries_of(file) == expected, file, leading, row="KIP101-CACHE-07", case="added", detail=detail)


@log_scenario("KIP101-SC-12", "KIP101-CACHE-07", "KIP320-REPL-09", rig=TO_BE_COPIED, trim=integers(0, 5))
def new_replica_before_the_leader_knows(partition: Partition, trim: int) -> Claims:
    """The leader learns of its new follower late and refuses it with 75 at first; under writes it still joins the ISR."""
    bench, state = partition.bench, partition.wait_until_whole()
    [added] = {bench.id_of(name) for name in bench.brokers} - set(state.replicas)
    leader = bench.node(state.leader)
    if trim:
        leader.delete_records(partition.name, partition.index, trim)
    with bench.faults(partition.topic).standing_fault(Delay(role="leader", peer="controllers", milliseconds=SLOW_MS)):
        assign_new_replica(partition, state, added)
        refused = first_fetch_of(partition, leader, added, state.leader_epoch)
        joined = joins_under_writes(partition, leader, added)
    yield premise(refused.error is Error.UNKNOWN_LEADER_EPOCH, f"{added} was refused at first: {refused.error.name}")
    detail = f"{added} in the ISR by itself: {joined}"
    yield held_if(
        joined, refused, row="KIP320-REPL-09", case="follower", detail=detail, label="" if joined.outcome else "stuck"
    )
    at_rest(partition)
    yield from equivalent_cache(partition, leader, added, state.leader_epoch)
