"""Partitions of brokers that crash: their newest entry while the leader may be elected again (KIP101-CACHE-05), and their records
once a broker is back."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from conformance.kip101.crashes import newest_entries
from conformance.rigs.log.crashes import Crashing
from conformance.rigs.log.partition import Boundary, PartitionData
from fixtures.wire import NotSent
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import FetchPartition
from protocol.messages import Topic

FIRST = Boundary(0, 0)


def state(epoch: int) -> PartitionMetadata:
    return PartitionMetadata(error=Error.NONE, partition=0, leader=2, leader_epoch=epoch, replicas=(2, 3), isr=(2,))


class Leader(Crashing):
    """It leads in the epochs that it is made with, one after the other, and has these entries all the time."""

    def __init__(self, epochs: list[int], *entries: Boundary) -> None:
        self.epochs = epochs
        self.held = entries

    def await_leadership(self, id: int, *, above: int = -1, isr: set[int] | None = None) -> PartitionMetadata:
        return state(self.epochs.pop(0) if len(self.epochs) > 1 else self.epochs[0])

    def entries(self, id: int, until: Callable[[tuple[Boundary, ...]], bool]) -> tuple[Boundary, ...]:
        return self.held


@pytest.mark.parametrize(
    ("epochs", "newest", "found"),
    [
        ([3], Boundary(3, 1), 3),
        ([3, 5], Boundary(5, 1), 5),  # elected again before its entries were read
        ([3], Boundary(5, 1), 3),  # an entry of an epoch in which it does not lead
        ([3, 5], Boundary(3, 2), 5),  # the entry of the epoch before, at another offset
    ],
)
def test_the_epoch_is_the_one_that_it_leads_in_once_its_entries_are_read(
    epochs: list[int], newest: Boundary, found: int
) -> None:
    assert newest_entries(Leader(epochs, FIRST, newest), 2, 1) == (found, (FIRST, newest))


class Starting:
    """A broker that resets its first connections, and has records from offset 4 on. It answers a fetch with the request."""

    def __init__(self, resets: int, error: Error = Error.NONE) -> None:
        self.resets = resets
        self.error = error

    def list_offsets(self, *_: object, **__: object) -> SimpleNamespace:
        self.resets -= 1
        if self.resets >= 0:
            raise NotSent("connection reset by peer")
        return SimpleNamespace(error=self.error, offset=-1 if self.error else 4)

    def fetch(self, request: FetchPartition, _: object) -> FetchPartition:
        return request


class Returned(Crashing):
    """A partition of which one broker has just started."""

    def __init__(self, broker: Starting) -> None:
        bench: Any = SimpleNamespace(node=lambda _: broker, eventually=self._eventually)
        super().__init__(bench, PartitionData(Topic("t", UUID(int=1)), 0))

    def _eventually(self, probe: Callable[[], int | None], *_: object, **__: object) -> int:
        return next(found for _ in range(3) if (found := probe()) is not None)


@pytest.mark.parametrize("resets", [0, 1, 2])
def test_a_broker_in_the_isr_is_read_once_it_takes_requests(resets: int) -> None:
    fetched: Any = Returned(Starting(resets)).read(2)
    assert fetched.fetch_offset == 4


def test_a_refused_read_is_not_tried_again() -> None:
    broker = Starting(0, Error.NOT_LEADER_OR_FOLLOWER)
    Returned(broker).read(2)
    assert broker.resets == -1, "one request"
