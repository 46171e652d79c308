"""A consumer group on three brokers, whose coordinator can be moved independently of its topic's leaders."""

from __future__ import annotations

from itertools import count, islice

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import CONSUMER_GROUPS, FORMER_LEVEL_BROKERS, TRANSACTIONS
from conformance.rigs.groups.group import WITHOUT_GROUPS, Group, GroupData, new_topic
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.producers.three_brokers import How, ThreeBrokers, TransactionStateTopic
from fixtures.views.coordinator import Coordinator
from fixtures.views.nodes import ask_until_served
from fixtures.wire import NodeClient
from fixtures.wire.retriable import NOT_COORDINATED_YET, ask_again
from history.due import COORDINATOR_TIMEOUT
from protocol.cluster import CoordinatorType
from protocol.coordinators import LOGS
from protocol.groups import OffsetFetchAnswer
from protocol.messages import Topic


class RoutedGroup(Group):
    """A group whose requests go to its coordinator, which is looked up for each."""

    @property
    def node(self) -> NodeClient:
        return Coordinator(self.bench, self.name).node()

    def await_coordinator(self) -> None:
        """Wait until the coordinator has loaded the group."""

        def ready() -> bool:
            return not ask_again(self.node.offset_fetch(self.name, version=WITHOUT_GROUPS), NOT_COORDINATED_YET)

        self.bench.eventually(ready, f"a coordinator of {self.name}", COORDINATOR_TIMEOUT, due="coordinator")

    @property
    def log(self) -> Partition:
        """The partition of __consumer_offsets whose leader is the coordinator."""
        view, internal = Coordinator(self.bench, self.name), LOGS[CoordinatorType.GROUP]
        described = self.bench.node(self.bench.brokers[0]).metadata([internal]).topic(internal)
        return Partition(self.bench, PartitionData(Topic(internal, described.topic_id), view.index()))

    def committed_offset(self, partition: int, topic: Topic | None = None) -> OffsetFetchAnswer:
        """Return the committed offset as any client reads it, once the group's coordinator serves the request."""
        return ask_until_served(
            self.bench, lambda: super(RoutedGroup, self).committed_offset(partition, topic), NOT_COORDINATED_YET
        )

    def beside(self, number: int) -> list[RoutedGroup]:
        """Return further groups with topics of their own, whose records are in the same partition of the log."""
        names = Coordinator(self.bench, self.name).keys_beside(self.bench.fresh_name("group") for _ in count())
        return [
            RoutedGroup(self.bench, GroupData(name, new_topic(self.bench, self.partitions), self.partitions))
            for name in islice(names, number)
        ]

    def move_coordinator(self, how: How) -> None:
        """Move the group to another coordinator; afterwards all brokers are up."""
        log = self.log
        with ThreeBrokers(self.bench, TransactionStateTopic(log.topic)).replace_leader(log, how):
            pass
        self.await_coordinator()

    def coordinate_at(self, name: str) -> None:
        """Make this broker the group's coordinator, by an ordinary election if it is not yet."""
        log = self.log
        if log.wait_until_whole().leader != self.bench.id_of(name):
            log.move_leader(self.bench.id_of(name))
        self.await_coordinator()


def routed_group(bench: Bench) -> GroupData:
    """Prepare a group with a topic of four partitions and a coordinator that has loaded it."""
    data = GroupData(bench.fresh_name("group"), new_topic(bench, 4), 4)
    RoutedGroup(bench, data).await_coordinator()
    return data


ROUTED_GROUP = Rig(TRANSACTIONS, routed_group, RoutedGroup)
ROUTED_CONSUMERS = Rig(CONSUMER_GROUPS, routed_group, RoutedGroup)
"""The same on brokers that have the consumer protocol in each release with its preview, too."""
ROUTED_ON_FORMER_LEVEL = Rig(FORMER_LEVEL_BROKERS, routed_group, RoutedGroup)
"""The same on brokers of which some can run a release without assignment epochs (KIP-1251)."""
