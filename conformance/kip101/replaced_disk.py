"""A broker that returns with an empty log directory; its partitions must still get a leader (GEN-08, KIP-858)."""

from collections.abc import Sequence

import msgspec
from hypothesis.strategies import booleans, integers

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if, premise
from conformance.core.topologies import QUICK_CLUSTER
from conformance.core.waiting import WITHIN
from conformance.rigs.log.partition import Partition, PartitionData, new_topics
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.topics import delete_topics
from fixtures.faults.base.injector import Unhealed
from fixtures.faults.kinds.disk import WipeDisk
from history.due import START_TIMEOUT
from protocol.words import say

PARTITIONS = 6


class LoneReplicasData(msgspec.Struct, frozen=True):
    partitions: list[PartitionData]
    with_follower: PartitionData


class LoneReplicas:
    """Partitions with one replica each, all on the same broker: no other broker has their records. `with_follower` is led by it
    too, and has another replica."""

    def __init__(self, bench: Bench, data: LoneReplicasData) -> None:
        self.bench = bench
        self.partitions = [Partition(bench, one) for one in data.partitions]
        self.with_follower = Partition(bench, data.with_follower)

    def are_led(self) -> bool:
        """True if every partition has a leader, as the brokers that answer describe it."""
        states = [one.newest() for one in self.partitions]
        return all(state is not None and state.leader >= 0 for state in states)

    def delete(self, leaderless: Sequence[Partition]) -> None:
        """Delete the topics of partitions that would keep the cluster from rest."""
        if leaderless:
            delete_topics(self.bench, [one.topic for one in leaderless])

    def host_is_back(self) -> bool:
        """True if another broker lists the one with the replicas, the last one."""
        other, *_, host = self.bench.brokers
        return self.bench.id_of(host) in {broker.node_id for broker in self.bench.node(other).metadata([]).brokers}


def _prepare(bench: Bench) -> LoneReplicasData:
    host, other = bench.id_of(bench.brokers[-1]), bench.id_of(bench.brokers[0])
    made = [PartitionData(topic, 0) for topic in new_topics(bench, [*[(host,)] * PARTITIONS, (host, other)])]
    for data in made:
        Partition(bench, data).wait_until_whole()
    return LoneReplicasData(made[:-1], made[-1])


LONE_REPLICAS = Rig(QUICK_CLUSTER, _prepare, LoneReplicas)


@log_scenario(
    "GEN-SC-03",
    "GEN-08",
    rig=LONE_REPLICAS,
    cases=["disk-replaced"],
    examples=5,
    clean=booleans(),
    records=integers(1, 3),
)
def the_only_replica_gets_an_empty_disk(lone: LoneReplicas, clean: bool, records: int) -> Claims:
    """The controller knows the replicas by the id of a directory that is gone, until the broker assigns them to the new one."""
    for one in lone.partitions:
        one.write(*[b"on one disk only"] * records)
    faults, replaced = lone.bench.faults(lone.with_follower.topic), WipeDisk(role="leader", clean=clean)
    injected = faults.inject(replaced)
    host = lone.bench.brokers[-1]
    yield premise([*injected.nodes] == [host], f"the disk of {host} was replaced: {say(injected.nodes)}")
    try:
        faults.heal(replaced)
    except Unhealed:
        """Whether its partitions have a leader is what the check observes, once the broker is back."""
    lone.bench.eventually(lone.host_is_back, "the broker with the empty disk unfenced", START_TIMEOUT, due="node")
    led = lone.bench.wait.becomes_true(lone.are_led, "a leader of each partition", WITHIN)
    leaderless = list[Partition]()
    for one in lone.partitions:
        state = one.newest_in(shown := one.answers())
        held = state is not None and state.leader >= 0
        leaderless += [] if held else [one]
        detail, label = f"{one}, on an empty disk: {say(state)}", "" if held else "stuck"
        yield held_if(held or led.require_also(False), *shown.values(), detail=detail, label=label)
    lone.delete(leaderless)
    at_rest(lone.with_follower, *(one for one in lone.partitions if one not in leaderless))
