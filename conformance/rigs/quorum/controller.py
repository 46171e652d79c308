"""The active controller's view of brokers and partitions, and requests that leaders send to it."""

from __future__ import annotations

from msgspec.structs import replace

from conformance.core.bench import Bench
from fixtures.views.quorum import QuorumView
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.controller import IsrChange
from protocol.errors import KitError
from protocol.messages import Topic

MANY_CHANGES = 1000


class Controller(QuorumView):
    """The active controller, looked up at each call. `broker` is one that is up for the whole example."""

    def __init__(self, bench: Bench, broker: str) -> None:
        super().__init__(bench, via=broker)
        self.bench = bench

    def broker_epochs(self) -> dict[int, int]:
        """The epoch of each broker's last registration, by broker id."""
        active = self.active()
        if active is None:
            raise KitError("no controller is active")
        epochs = self.bench.node(active.id, controller=True).broker_registrations(active.epoch).epochs
        if missing := [name for name in self.bench.brokers if self.bench.id_of(name) not in epochs]:
            raise KitError(f"__cluster_metadata holds no registration of {missing}; it names {epochs}")
        return epochs

    def isr_as_it_is(self, topic: Topic, state: PartitionMetadata, broker_epoch: int) -> IsrChange:
        """A leader's AlterPartition that changes nothing, with all epochs as the controller has them.

        A leader learns the partition epoch from the metadata log. Here it is found by trying: the controller accepts no
        other.
        """
        change = IsrChange(
            topic=topic,
            partition=state.partition,
            broker_id=state.leader,
            broker_epoch=broker_epoch,
            leader_epoch=state.leader_epoch,
            partition_epoch=0,
            isr=state.isr,
        )
        controller = self.leader()
        for guess in range(MANY_CHANGES):
            answer = controller.alter_partition(replace(change, partition_epoch=guess))
            if answer.error is Error.NONE:
                return replace(change, partition_epoch=answer.partition_epoch)
            if answer.error is not Error.INVALID_UPDATE_VERSION:
                break
        raise KitError(f"the controller does not accept the ISR that {topic.name} has: {answer}, asked {change}")
