"""Brokers' requests to the controller: AlterPartition (KIP-497, KIP-841, KIP-903), and the broker registrations."""

import struct
from collections.abc import Iterator

import msgspec

from protocol.messages import Answer, Operation, PartitionAnswer, Request, Topic
from protocol.records import Batch

REGISTER_BROKER = b"\x01\x00"
"""The first bytes of a RegisterBrokerRecord: frame version 1, type 0. One byte with the record's version follows."""


FLAG_FROM = 2
"""The first version of RegisterBrokerRecord with a flag after the broker's id."""


class IsrChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The ISR that a leader proposes for one partition, with its own broker epoch, its leader epoch and the partition
    epoch.

    `topic` needs its id. The broker epochs of the ISR members are sent as -1, unknown.
    """

    topic: Topic
    partition: int
    broker_id: int
    broker_epoch: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


class AlteredPartition(PartitionAnswer, frozen=True, kw_only=True):
    """The partition's new state at the controller. Unless `error` is NONE, no other field is valid."""

    leader_id: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    partition_epoch: int = -1


class Registration(msgspec.Struct, frozen=True, gc=False):
    broker_id: int
    broker_epoch: int


class Registrations(Answer, frozen=True, kw_only=True):
    """The registrations of all brokers, in the order of registration."""

    registrations: tuple[Registration, ...]

    @property
    def epochs(self) -> dict[int, int]:
        """The epoch of each broker's last registration, by broker id."""
        return {one.broker_id: one.broker_epoch for one in self.registrations}


def registrations_in(batch: Batch) -> Iterator[Registration]:
    """Yield the registrations in the RegisterBrokerRecords of a batch."""
    for record in () if batch.control else batch.records:
        if record.value and record.value.startswith(REGISTER_BROKER):
            # An incarnation id of 16 bytes precedes the epoch.
            layout = ">i17xq" if record.value[2] >= FLAG_FROM else ">i16xq"
            yield Registration(*struct.unpack_from(layout, record.value, 3))


class BrokerRegistrations(Operation[Registrations], frozen=True):
    leader_epoch: int


class AlterPartition(Request[AlteredPartition], frozen=True):
    change: IsrChange
