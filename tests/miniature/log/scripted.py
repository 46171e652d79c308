"""Bugs out of reach of the machine's steps, each with a script that meets it."""

from __future__ import annotations

from collections.abc import Callable

from conformance.core.bench import Bench
from conformance.judging.judge import judge_all
from conformance.judging.judges import JUDGES
from conformance.judging.timeline import AT_REST, CONVERGENCE_TIMEOUT
from conformance.rigs.log.partition import Partition, new_partition
from conformance.rigs.log.quiescence import read_whole
from conformance.rigs.log.reader import Reader
from fixtures.faults.kinds.elections import MoveLeader
from fixtures.faults.kinds.process import Kill, Stop
from history.observations import Observation
from protocol.cluster import PartitionMetadata
from protocol.messages import Topic
from protocol.records import batch
from protocol.topics import NewTopic, Reassignment
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


def too_few_in_sync(*bugs: str) -> list[Observation]:
    """Produce with acks=all while two of three replicas are down and two are required.

    The machine's faults come one at a time, so that a strict partition keeps two replicas in its ISR.
    """
    bench = mini_bench(MiniCluster(bugs))
    partition = new_partition(bench, (), min_insync_replicas="2")
    faults = bench.faults(partition.topic)
    for left in (["broker-1", "broker-3"], ["broker-1"]):
        faults.inject(Kill(role="follower"))
        partition.await_agreement(left)
    bench.node(1).produce(partition.topic, 0, batch(b"a", timestamp=bench.now().unix_ms))
    partition.await_agreement(["broker-1"])
    faults.heal_all()
    return _violations(bench)


def read_across_an_election(*bugs: str) -> list[Observation]:
    """Let the reference reader get the first of an epoch's two records, change the leader, and read on.

    The machine's consumers stand for kafka-python's, which are not on the tape as readers.
    """
    bench = mini_bench(MiniCluster(bugs))
    partition = new_partition(bench, (), min_insync_replicas="2")
    reader = Reader(partition, "reader-1", "fetch")
    _write(partition, b"a")
    reader.read_to(1)
    _write(partition, b"b")
    faults = bench.faults(partition.topic)
    faults.inject(MoveLeader())
    faults.heal_all()
    state = _write(partition, b"c")
    read_whole(partition, bench.node(state.leader), state.leader_epoch)
    reader.read_to(3)
    return _violations(bench)


def last_replica_comes_back(*bugs: str) -> list[Observation]:
    """Stop and start a partition's only replica, and observe the partition for longer than the bound."""
    bench = mini_bench(MiniCluster(bugs))
    partition = new_partition(bench, (1,))
    faults = bench.faults(partition.topic)
    faults.inject(Stop(role="leader"))
    partition.state_by("broker-2")
    bench.processes.start("broker-1")
    began = bench.now().seconds
    bench.eventually(lambda: _over(partition, began), "the end of the bound", within=60.0)
    return _violations(bench)


def _over(partition: Partition, began: float) -> bool:
    return partition.state_by("broker-2").leader >= 0 or partition.bench.now().seconds - began > CONVERGENCE_TIMEOUT + 2


def follower_comes_back_first(*bugs: str) -> list[Observation]:
    """Lose a follower, then its leader, which alone has a record; start the follower without requesting an election."""
    bench = mini_bench(MiniCluster(bugs))
    partition = new_partition(bench, (1, 2), min_insync_replicas="1")
    faults = bench.faults(partition.topic)
    _write(partition, b"on both")
    faults.inject(Kill(role="follower"))
    partition.await_agreement(["broker-1"])
    bench.node(1).produce(partition.topic, 0, batch(b"on one", timestamp=bench.now().unix_ms))
    faults.inject(Kill(role="leader"))
    bench.eventually(lambda: partition.state_by("broker-3").leader == -1, "no leader")
    bench.processes.start("broker-2")
    for _ in range(40):
        state = partition.state_by("broker-3")
        if state.leader == 2:
            read_whole(partition, bench.node(2), state.leader_epoch)
            break
    return _violations(bench)


def follower_is_elected_unseen(*bugs: str) -> list[Observation]:
    """Do the same without any answer that shows the missing leader: only the metadata log has the unclean election."""
    bench = mini_bench(MiniCluster(bugs))
    partition = new_partition(bench, (1, 2), min_insync_replicas="1")
    faults = bench.faults(partition.topic)
    faults.inject(Kill(role="follower"))
    partition.await_agreement(["broker-1"])
    faults.inject(Kill(role="leader"))
    bench.processes.start("broker-2")
    began = bench.now().seconds
    bench.eventually(lambda: bench.now().seconds - began > CONVERGENCE_TIMEOUT, "the end of elections", within=60.0)
    bench.processes.start("broker-1")
    partition.await_agreement(["broker-1", "broker-2"])
    bench.registrations([(partition.topic, partition.index)])
    return _violations(bench)


def reassigned_to_a_dead_broker(*bugs: str) -> list[Observation]:
    """Reassign a replica to a broker that is down, then cancel."""
    bench = mini_bench(MiniCluster(bugs))
    partition, beside = (new_partition(bench, (1, follower), min_insync_replicas="1") for follower in (2, 3))
    _write(partition, b"a")
    bench.faults(beside.topic).inject(Kill(role="follower"))
    for replicas in ((1, 3), None):
        partition.state_by("broker-1")
        bench.node(1).alter_partition_reassignments([Reassignment(partition.name, 0, replicas)])
        for _ in range(3):
            partition.state_by("broker-1")
    bench.tape.premise(AT_REST, True)
    partition.state_by("broker-1")
    return _violations(bench)


def deleted_twice_by_id(*bugs: str) -> list[Observation]:
    """Delete a topic by id, create it again by name, and repeat the deletion."""
    bench = mini_bench(MiniCluster(bugs))
    node, wanted = bench.node(1), NewTopic("again", ((1, 2, 3),))
    former = node.create_topics([wanted]).topics[0].topic_id
    node.delete_topics([Topic("again", former)])
    node.create_topics([wanted])
    node.delete_topics([Topic("again", former)])
    return _violations(bench)


def _write(partition: Partition, value: bytes) -> PartitionMetadata:
    """Produce one record with acks=all to the leader; return the partition's state."""
    bench = partition.bench
    state = partition.await_agreement(bench.brokers)
    bench.node(state.leader).produce(partition.topic, 0, batch(value, timestamp=bench.now().unix_ms))
    return state


def _violations(bench: Bench) -> list[Observation]:
    return [one for one in judge_all(JUDGES, bench.tape.history) if one.result == "violated"]


SCRIPTS: dict[str, Callable[..., list[Observation]]] = {
    "cancelled-by-half": reassigned_to_a_dead_broker,
    "elected-out-of-isr": follower_comes_back_first,
    "former-id-deletes": deleted_twice_by_id,
    "no-next-leader": last_replica_comes_back,
    "older-epoch-skipped": read_across_an_election,
    "reassigned-early": reassigned_to_a_dead_broker,
    "success-below-min-isr": too_few_in_sync,
}

__all__ = ["SCRIPTS", "follower_is_elected_unseen"]
