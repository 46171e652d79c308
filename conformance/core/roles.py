"""The roles of partitions' replicas among the running brokers: leader, follower and former leader."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from conformance.core.bench import Bench
from fixtures.views.partition import PartitionView
from fixtures.waiting import Overdue
from fixtures.wire import NodeClient, WireError
from protocol.cluster import CoordinatorType, PartitionMetadata
from protocol.codes import Error
from protocol.errors import KitError
from protocol.messages import Topic
from protocol.words import say

LEADER_TIMEOUT = 2.0
"""Seconds that a step waits for a leader. If a replica can be elected, this has usually happened by the time a fault shows."""


class Absent(KitError):
    """No reachable node has the role at which a step is aimed."""


class Roles:
    """The roles of an example's partitions. `partitions` maps the machine's own names to topic name and index.

    Brokers that are down or frozen are not asked; `refresh` determines them after each fault.
    """

    def __init__(self, bench: Bench, partitions: Mapping[str, tuple[str, int]]) -> None:
        self.down: set[str] = set()
        self._bench = bench
        self._leaderless: set[str] = set()
        self._unheard: set[str] = set()
        """The brokers without an answer to FindCoordinator since the last fault: another try would take as long."""
        self._looked: dict[str, PartitionMetadata | None] | None = None
        # Each view requests the topics of all, so that each answer shows the judges all partitions.
        topics = [topic for topic, _ in partitions.values()]
        self._views = {
            on: PartitionView(bench, Topic(topic), index, beside=topics) for on, (topic, index) in partitions.items()
        }

    def add(self, on: str, topic: str, index: int) -> None:
        """Add a partition, or replace the one of a topic that was created again under its name."""
        beside = [view.topic.name for view in self._views.values()]
        self._views[on] = PartitionView(self._bench, Topic(topic), index, beside=beside)
        self._leaderless.discard(on)

    # --- after and before faults

    def refresh(self) -> None:
        """Ask the engine which brokers are down. Forget which partitions had no leader and which brokers did not answer."""
        self.down = set(self._bench.processes.stopped_or_frozen(self._bench.brokers))
        self._leaderless.clear()
        self._unheard.clear()

    def remember_leaders(self) -> None:
        """Remember each partition's leader, which after a fault is the former leader.

        It does not wait for elections, so that a fault can come in the middle of one.
        """
        self._newest_metadata()

    def _newest_metadata(self) -> dict[str, PartitionMetadata | None]:
        """Return each partition at its newest leader epoch, with one request per broker."""
        widest = max(self._views.values(), key=lambda view: len(view.asked_topics), default=None)
        answers = widest.answers(self.down) if widest is not None else {}
        return {on: view.newest_in(answers) for on, view in self._views.items()}

    @contextmanager
    def shared_metadata(self) -> Iterator[None]:
        """Answer from a single look at all partitions within the block; only leaderless ones are looked up again."""
        self._looked = self._newest_metadata()
        try:
            yield
        finally:
            self._looked = None

    def running_brokers(self) -> list[str]:
        """Return the brokers that can be asked."""
        return [name for name in self._bench.brokers if name not in self.down]

    def is_running(self, id: int) -> bool:
        return self._bench.name_of(id) not in self.down

    def describe_eligible(self) -> None:
        """Request the eligible leader replicas and last known leaders from every running broker that offers
        DescribeTopicPartitions (KIP-966). They tell the judges which losses are permitted."""
        topics = sorted({view.topic.name for view in self._views.values()})
        if topics and "DescribeTopicPartitions" in self._bench.column.ranges:
            for name in self.running_brokers():
                with suppress(WireError):
                    self._bench.node(name).describe_topic_partitions(topics)

    # --- partitions

    def partition_state(self, on: str) -> PartitionMetadata:
        """Return the partition at the newest leader epoch that any running broker knows, once it has a leader. Raises Absent."""
        if on not in self._views:
            raise Absent(f"{on} was not created yet")
        state = self._newest(on)
        if state is None and on not in self._leaderless:
            state = self._await_election(on)
        if state is None:
            raise Absent(f"{on} has no leader")
        return state

    def leaderless_partitions(self) -> list[str]:
        """Return the partitions without a leader although one of their in-sync replicas runs with its log directory online."""
        return [on for on, newest in self._newest_metadata().items() if self._lacks_leader(newest)]

    def _lacks_leader(self, newest: PartitionMetadata | None) -> bool:
        if newest is None or (newest.leader >= 0 and self.is_running(newest.leader)):
            return False
        return any(self.is_running(id) for id in {*newest.isr} - {*newest.offline})

    def epoch(self, on: str, back: int = 0) -> int:
        """Return the leader epoch `back` below the current one, but at least 0."""
        return max(0, self.partition_state(on).leader_epoch - back)

    def node(self, on: str, role: str) -> NodeClient:
        """Return the client of the `leader`, of the first running `follower`, or of the latest `former-leader` that runs (the
        leader if none does).

        Raises Absent.
        """
        state = self.partition_state(on)
        holders = {
            "leader": [state.leader],
            "follower": [id for id in state.replicas if id != state.leader and self.is_running(id)],
            "former-leader": [*filter(self.is_running, self._views[on].former_leaders()), state.leader],
        }[role]
        if not holders:
            raise Absent(f"{on} has no {role} that can be reached")
        return self._bench.node(holders[0])

    def _await_election(self, on: str) -> PartitionMetadata | None:
        """Wait for an election, once after each fault. Partitions that have no leader by then count as leaderless until the next
        fault."""
        with suppress(Overdue):
            return self._bench.eventually(
                lambda: self._newest(on), f"a leader of {on}", within=LEADER_TIMEOUT, every=0.1, due=None
            )
        self._leaderless |= {on} | {
            one for one, newest in self._newest_metadata().items() if self._if_leader_runs(newest) is None
        }
        return None

    def _newest(self, on: str) -> PartitionMetadata | None:
        newest = self._if_leader_runs(self._looked[on]) if self._looked is not None else None
        return newest or self._if_leader_runs(self._views[on].newest(excluding=self.down))

    def _if_leader_runs(self, newest: PartitionMetadata | None) -> PartitionMetadata | None:
        """Return the partition if its leader runs, else None."""
        return newest if newest is not None and newest.leader >= 0 and self.is_running(newest.leader) else None

    # --- coordinators

    def coordinator(self, key: str, kind: CoordinatorType = CoordinatorType.GROUP) -> NodeClient:
        """Return the coordinator that a running broker names. Raises Absent if it is down or no broker names one."""
        id = self._named_coordinator(key, kind)
        if id is None or not self.is_running(id):
            raise Absent(f"{key} has no coordinator that can be reached: {say(id)}")
        return self._bench.node(id)

    def _named_coordinator(self, key: str, kind: CoordinatorType) -> int | None:
        for name in [name for name in self.running_brokers() if name not in self._unheard]:
            try:
                found = self._bench.node(name).find_coordinator(key, kind)
            except WireError:
                self._unheard.add(name)
                continue
            return found.node_id if found.error is Error.NONE else None
        return None
