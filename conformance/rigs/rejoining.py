"""Many partitions whose leader has a tail that nobody else has, and a client that reads from it while it gives the tail up."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from conformance.bench import Bench
from conformance.checks import Rig
from conformance.rigs.log import PartitionData
from conformance.rigs.reader import Delivered, delivered_of
from conformance.rigs.rest import read_whole
from conformance.rigs.unclean import Couple, CoupleData
from conformance.topologies import QUICK_CLUSTER
from fixtures.errors import KitError
from fixtures.wire import Error, NodeClient, WireError
from fixtures.wire.calls import Topic
from fixtures.wire.log import FetchAnswer, FetchedPartition, FetchPartition, ProducePartition
from fixtures.wire.records import batch
from fixtures.wire.topics import ElectionType, NewTopic

PARTITIONS = 24
"""The moment between a diverging answer and the truncation is short, and each partition has one of its own."""


class CrowdData(msgspec.Struct, frozen=True):
    topic: Topic
    first: str
    second: str
    bystander: str


class Crowd:
    """Partitions of one topic, all on the same two brokers and led by the same one."""

    def __init__(self, bench: Bench, data: CrowdData) -> None:
        self.bench = bench
        self.topic = data.topic
        self.couples = [
            Couple(bench, CoupleData(PartitionData(data.topic, index), data.first, data.second, data.bystander))
            for index in range(PARTITIONS)
        ]
        self.one = self.couples[0]
        self.first, self.second = data.first, data.second

    # --- writing

    def write(self, to: str, *values: bytes, acks: int = -1) -> None:
        """The same values to all partitions; KitError when one of them is refused."""
        wanted = [ProducePartition(self.topic, couple.index, batch(*values)) for couple in self.couples]
        answer = self.bench.node(to).produce_many(wanted, acks=acks)
        if any(one.error is not Error.NONE for one in answer.partitions):
            raise KitError(f"writes to {self.topic.name} were refused: {answer}")

    # --- who leads

    def states(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        """Leader and ISR of every partition, as the bystander has them."""
        topic = self.bench.node(self.one.bystander).metadata([self.topic.name]).topic(self.topic.name)
        return {p.partition: (p.leader, p.isr) for p in topic.partitions}

    def taken_over(self) -> dict[int, int]:
        """The epochs of all partitions once the second broker acts as their leader."""
        return {couple.index: couple.acts_as_leader(self.second).leader_epoch for couple in self.couples}

    def leaderless(self) -> set[tuple[int, ...]]:
        """The ISRs of all partitions once nobody leads any."""

        def without() -> set[tuple[int, ...]] | None:
            states = self.states().values()
            return {isr for _, isr in states} if {leader for leader, _ in states} == {-1} else None

        return self.bench.eventually(without, f"nobody leading any of {self.topic.name}")

    def elect(self) -> dict[int, int]:
        """An unclean election of the second broker, the only one that lives, for all partitions; their epochs."""
        node = self.bench.node(self.one.bystander)
        all_of_it = [(self.topic.name, couple.index) for couple in self.couples]

        def elected() -> bool:
            answer = node.elect_leaders(all_of_it, ElectionType.UNCLEAN)
            return {answer.error, *(p.error for p in answer.partitions)} <= {Error.NONE, Error.ELECTION_NOT_NEEDED}

        self.bench.tape.fault("unclean-election", "inject", role="leader", node=self.second)
        self.bench.eventually(elected, f"an unclean election of {self.second}", every=0.1)
        epochs = self.taken_over()
        self.bench.tape.fault(
            "unclean-election",
            "witness",
            role="leader",
            node=self.second,
            detail={"epochs": sorted(set(epochs.values()))},
        )
        return epochs

    # --- reading

    def logs(self) -> list[FetchedPartition]:
        """The whole log of each partition, as its leader has it."""
        found = [(couple, couple.settled()) for couple in self.couples]
        return [read_whole(couple, self.bench.node(state.leader), state.leader_epoch) for couple, state in found]


class Hammer:
    """Fetches from one broker without pause, as a consumer that reads from a follower would: all partitions at once."""

    def __init__(self, crowd: Crowd, broker: str, offset: int, epochs: dict[int, int], end: int) -> None:
        """Every other fetch names no epoch; the others name `epochs`, which the broker serves once it has heard of them."""
        self.crowd = crowd
        self.node: NodeClient = crowd.bench.node(broker, purpose="hammer")
        self.offset, self.end = offset, end
        self.answers: list[FetchAnswer] = []
        self.caught_in_time: set[int] = set()
        self._done: set[int] = set()
        self._wanted = [self._fetches({}), self._fetches(epochs)]

    def _fetches(self, epochs: dict[int, int]) -> list[FetchPartition]:
        return [
            FetchPartition(
                topic=self.crowd.topic,
                partition=couple.index,
                fetch_offset=self.offset,
                current_leader_epoch=epochs.get(couple.index, -1),
            )
            for couple in self.crowd.couples
        ]

    def until_caught_up(self, within: float) -> None:
        """Go on until the broker has all partitions up to `end` at their new epochs. Raises Overdue."""
        what = f"{self.node.node} following all of {self.crowd.topic.name} up to {self.end}"
        self.crowd.bench.eventually(self._strike, what, within=within, every=0.002)

    def _strike(self) -> bool:
        try:
            self.answers.append(self.node.fetch_many(self._wanted[0]))
            self._note(self.node.fetch_many(self._wanted[1]))
        except WireError:
            return False
        return len(self._done) == len(self.crowd.couples)

    def _note(self, answer: FetchAnswer) -> None:
        """Of an answer at the new epochs: who was met before it had caught up, and who has."""
        self.answers.append(answer)
        for one in answer.partitions:
            if one.error is Error.NONE:
                (self._done if one.high_watermark >= self.end else self.caught_in_time).add(one.partition)

    def served(self) -> dict[int, set[Delivered]]:
        """All records that it was ever handed, by partition."""
        found: dict[int, set[Delivered]] = {couple.index: set() for couple in self.crowd.couples}
        for answer in self.answers:
            for one in answer.partitions:
                found[one.partition] |= set(delivered_of(one))
        return found

    def showing(self, doomed: dict[int, set[Delivered]]) -> list[FetchAnswer]:
        """The answers with any of these records."""
        return [a for a in self.answers if any(doomed[p.partition] & set(delivered_of(p)) for p in a.partitions)]


def not_in(served: dict[int, set[Delivered]], logs: Sequence[FetchedPartition]) -> dict[int, set[Delivered]]:
    """Of what was served, by partition, the records that the final logs do not have."""
    return {index: records - set(delivered_of(logs[index])) for index, records in served.items()}


def crowd(bench: Bench) -> CrowdData:
    bystander, second, first = bench.brokers
    name, replicas = bench.fresh("topic"), (bench.id_of(first), bench.id_of(second))
    new = NewTopic(name, (replicas,) * PARTITIONS, configs={"min.insync.replicas": "1"})
    [created] = bench.node(bystander).create_topics([new]).topics
    if created.error is not Error.NONE:
        raise KitError(f"topic {name} could not be created: {created}")
    data = CrowdData(Topic(created.name, created.topic_id), first, second, bystander)
    for couple in Crowd(bench, data).couples:
        couple.whole()
    return data


CROWD = Rig(QUICK_CLUSTER, crowd, Crowd)
