"""The ground of all groups of an example: topics, names, and requests to whichever broker coordinates a group."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar
from uuid import UUID

from conformance.core.bench import Bench
from conformance.core.roles import Absent, Roles
from conformance.rigs.groups.group import WITHOUT_GROUPS
from conformance.rigs.topics import create_topics
from fixtures.views.coordinator import Coordinator
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, WireError
from fixtures.wire.retriable import NOT_COORDINATED_YET, error_of
from history.due import COORDINATOR_TIMEOUT
from protocol.cluster import CoordinatorType
from protocol.coordinators import LOGS, partition_for
from protocol.messages import Answer, Topic
from protocol.topics import NewTopic
from strategies import groups as do

A = TypeVar("A", bound=Answer)

OFFSETS_TOPIC = LOGS[CoordinatorType.GROUP]
SERVED_WITHIN = 3.0
"""Seconds for which a step asks again while no coordinator is elected or has loaded the group."""
ASKED_EACH = 4
"""One in this many requests is sent while coordinators serve nothing; each would wait until the coordinator gives up."""


class Ground:
    """The example's topics and groups. `topics` has the newest creation of each topic; steps may change it."""

    def __init__(self, bench: Bench, topics: Mapping[str, Topic]) -> None:
        self.bench = bench
        self.topics = topics
        self.log_partitions = _find_log_partitions(bench)
        self.names = _name_groups(bench, self.log_partitions)
        self.roles = Roles(bench, {on: (OFFSETS_TOPIC, self.log_partition(on)) for on in do.GROUPS})
        self._known: dict[UUID, Topic] = {}
        self._offset = 0
        self.serves_nothing = False
        """True if the last request was served by no coordinator in time."""
        self._left_out = 0
        self.read_by: dict[str, list[str]] = {}
        """The topics that each classic member reads, which its group's leader has to know."""

    def log_partition(self, on: do.GroupName) -> int:
        """Return the partition of the offsets topic that holds the group."""
        return partition_for(self.names[on], self.log_partitions)

    def next_offset(self) -> int:
        """Return an offset that no other commit of the example has."""
        self._offset += 1
        return self._offset

    # --- coordinators

    def refresh(self) -> None:
        """Look again at what a fault or its healing may have changed."""
        self.serves_nothing = False
        self.roles.refresh()
        self.roles.describe_eligible()

    def coordinator(self, on: do.GroupName) -> NodeClient:
        """Return the group's coordinator, if need be after an election, which is waited for once after each fault. Raises
        Absent."""
        with suppress(Absent):
            return self.roles.coordinator(self.names[on])
        self.roles.partition_state(on)
        return self.roles.coordinator(self.names[on])

    def ask(self, ask: Callable[[], A]) -> A:
        """Return the first answer of a coordinator that has loaded the group, or the last one in time.

        While coordinators serve nothing, as without enough in-sync replicas, each is asked once only, and most requests are
        left out: Absent.
        """
        answers: list[A] = []
        if self.serves_nothing and self._left_out < ASKED_EACH - 1:
            self._left_out += 1
            raise Absent("coordinators serve nothing since the last fault")
        self._left_out = 0
        self.serves_nothing, was_idle = False, self.serves_nothing

        def is_served() -> bool:
            answers.append(ask())
            return was_idle or error_of(answers[-1]) not in NOT_COORDINATED_YET

        with suppress(Overdue):
            self.bench.eventually(is_served, "an answer of the coordinator", within=SERVED_WITHIN, every=0.1, due=None)
        self.serves_nothing = error_of(answers[-1]) in NOT_COORDINATED_YET
        return answers[-1]

    def await_coordinators(self) -> bool:
        """True once each group has a coordinator that has loaded it. If one has none in time, that is recorded, and the
        result is False."""
        try:
            self.bench.eventually(
                lambda: all(self._is_loaded(on) for on in do.GROUPS),
                "a coordinator of each group that has loaded it",
                within=COORDINATOR_TIMEOUT,
                every=0.1,
                due="coordinator",
            )
        except Overdue as overdue:
            self.bench.record_failure(overdue)
            return False
        return True

    def _is_loaded(self, on: do.GroupName) -> bool:
        with suppress(Absent):
            answer = self.coordinator(on).offset_fetch(self.names[on], version=WITHOUT_GROUPS)
            return error_of(answer) not in NOT_COORDINATED_YET
        return False

    # --- topics

    def topic_named(self, on: str) -> Topic:
        """Return the topic's newest creation. Raises Absent."""
        if on not in self.topics:
            raise Absent(f"{on} was not created yet")
        return self.topics[on]

    def topic_with(self, id: UUID) -> Topic:
        """Return a topic by its id, also one that was deleted since. Raises Absent for one that no step created."""
        self._known |= {topic.id: topic for topic in self.topics.values() if topic.id is not None}
        if id not in self._known:
            raise Absent(f"no step created the topic with the id {id}")
        return self._known[id]

    def partitions(self) -> list[tuple[Topic, int]]:
        """Return the partitions that topics have when they are created."""
        created = [(self.topics[on], do.PARTITIONS[on]) for on in do.TOPICS if on in self.topics]
        return [(topic, index) for topic, count in created if topic.id is not None for index in range(count)]

    def partitions_now(self) -> list[tuple[Topic, int]]:
        """Return the partitions that topics have by now, as far as a broker answers."""
        counts = self.count_partitions()
        created = [(self.topics[on], do.PARTITIONS[on]) for on in do.TOPICS if on in self.topics]
        return [(topic, index) for topic, count in created for index in range(counts.get(topic.name, count))]

    def count_partitions(self) -> dict[str, int]:
        """Return the numbers of partitions of the topics that groups read, by name; empty if no broker answers."""
        names = [self.topics[on].name for on in do.TOPICS if on in self.topics]
        with suppress(WireError, StopIteration):
            described = self.bench.node(next(iter(self.roles.running_brokers()))).metadata(names)
            return {topic.name: len(topic.partitions) for topic in described.topics if topic.name}
        return {}

    def await_partitions(self, on: str, total: int) -> None:
        """Wait until a broker knows that a topic has this many partitions."""
        name = self.topic_named(on).name
        with suppress(Overdue):
            self.bench.eventually(
                lambda: self.count_partitions().get(name, 0) >= total,
                f"{total} partitions of {name}",
                within=SERVED_WITHIN,
                every=0.1,
                due=None,
            )

    def topic_names(self, to: do.Subscription) -> list[str]:
        """Return the names to which a subscription by name subscribes, or that a regular expression stands for."""
        two, every = do.TOPICS[:2], do.TOPICS
        named = {
            "both": two,
            "both-and-none": two,
            "all": every,
            "nowhere": (),
            "pattern-of-two": two,
            "pattern-of-all": every,
        }.get(to, (to,))
        names = [self.topics[on].name for on in named if on in self.topics]
        return [*names, *([] if names and to != "both-and-none" else [f"nowhere-{self.bench.tape.example.example}"])]


def new_topics(bench: Bench) -> dict[str, Topic]:
    """Create the topics that groups read from the beginning, and the anchor, which no step changes."""
    ids = [bench.id_of(name) for name in bench.brokers]
    spread = {on: tuple((ids[n % len(ids)],) for n in range(do.PARTITIONS[on])) for on in do.TOPICS[:2]}
    wanted = [NewTopic(bench.fresh_name(on), replicas, configs=do.ONE_REPLICA) for on, replicas in spread.items()]
    created = create_topics(bench, [*wanted, NewTopic(bench.fresh_name("anchor"), (tuple(ids),))])
    return dict(zip((*spread, "anchor"), created, strict=True))


def _find_log_partitions(bench: Bench) -> int:
    """Return the number of partitions of the offsets topic, which the first look-up of a coordinator creates."""
    Coordinator(bench, bench.fresh_name("first")).node()
    described = bench.node(bench.brokers[0]).metadata([OFFSETS_TOPIC])
    return len(described.topic(OFFSETS_TOPIC).partitions)


def _name_groups(bench: Bench, partitions: int) -> dict[do.GroupName, str]:
    """Return a new name for each group; the first two have the same partition of the offsets topic, the third another."""
    first = bench.fresh_name("group")
    there = partition_for(first, partitions)

    def name(beside: bool) -> str:
        while (partition_for(found := bench.fresh_name("group"), partitions) == there) is not beside:
            pass
        return found

    return {"group-1": first, "group-2": name(beside=True), "group-3": name(beside=False)}
