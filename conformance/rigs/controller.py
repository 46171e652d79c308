"""What the active controller knows of brokers and partitions, and what leaders ask of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from msgspec.structs import replace

from conformance.bench import Bench
from fixtures.errors import KitError
from fixtures.wire import Error, NodeClient
from fixtures.wire.calls import Topic
from fixtures.wire.cluster import PartitionMetadata
from fixtures.wire.controller import IsrChange
from fixtures.wire.quorum import METADATA
from fixtures.wire.records import Batch

REGISTER_BROKER = b"\x01\x00"
"""How a RegisterBrokerRecord begins: frame version 1, type 0. One byte with the record's version follows."""

MANY_CHANGES = 1000


class Controller:
    """The active controller, asked for anew each time. `broker` is one that is up for the whole example."""

    def __init__(self, bench: Bench, broker: str) -> None:
        self.bench = bench
        self.broker = broker

    def client(self) -> NodeClient:
        return self.bench.node(self.bench.eventually(self._leader, "an active controller"), controller=True)

    def _leader(self) -> int | None:
        quorum = self.bench.node(self.broker).describe_quorum()
        return quorum.leader_id if quorum.error is Error.NONE and quorum.leader_id >= 0 else None

    def broker_epochs(self) -> dict[int, int]:
        """By broker id the epoch of its last registration, from the records of __cluster_metadata."""
        epochs = dict(registration for batch in self._metadata_log() for registration in _registrations(batch))
        if missing := [name for name in self.bench.brokers if self.bench.id_of(name) not in epochs]:
            raise KitError(f"__cluster_metadata holds no registration of {missing}; it names {epochs}")
        return epochs

    def _metadata_log(self) -> Iterator[Batch]:
        """All batches up to the high watermark, fetched as an observer of the quorum does."""
        quorum = self.bench.node(self.broker).describe_quorum()
        controller = self.bench.node(quorum.leader_id, controller=True)
        offset, epoch = 0, 0
        while True:
            answer = controller.fetch(
                METADATA, 0, offset, current_leader_epoch=quorum.leader_epoch, last_fetched_epoch=epoch
            )
            if answer.error is not Error.NONE:
                raise KitError(f"__cluster_metadata could not be read from {offset}: {answer}")
            yield from answer.batches
            if not answer.batches or answer.batches[-1].last_offset + 1 >= answer.high_watermark:
                return
            offset, epoch = answer.batches[-1].last_offset + 1, answer.batches[-1].leader_epoch

    def isr_as_it_is(self, topic: Topic, state: PartitionMetadata, broker_epoch: int) -> IsrChange:
        """The request of the partition's leader that changes nothing: all its epochs are the controller's.

        A leader learns the partition epoch from the metadata log. Here the controller tells it: it accepts no other.
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
        controller = self.client()
        for guess in range(MANY_CHANGES):
            answer = controller.alter_partition(replace(change, partition_epoch=guess))
            if answer.error is Error.NONE:
                return replace(change, partition_epoch=answer.partition_epoch)
            if answer.error is not Error.INVALID_UPDATE_VERSION:
                break
        raise KitError(f"the controller does not accept the ISR that {topic.name} has: {answer}, asked {change}")


def _registrations(batch: Batch) -> Iterator[tuple[int, int]]:
    """Broker ids and epochs of the RegisterBrokerRecords in a batch."""
    for record in batch.records:
        if not batch.control and record.value and record.value.startswith(REGISTER_BROKER):
            # From version 2 on a flag stands between the id and the incarnation, which has 16 bytes.
            layout = ">i17xq" if record.value[2] >= 2 else ">i16xq"
            id, epoch = struct.unpack_from(layout, record.value, 3)
            yield id, epoch
