"""The newest entry of a leader's leader epoch cache, while the leader may be elected again (KIP101-CACHE-05)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.kip101.crashes import newest_entries
from conformance.rigs.log.crashes import Crashing
from conformance.rigs.log.partition import Boundary
from protocol.cluster import PartitionMetadata
from protocol.codes import Error

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
