"""Entries of leader-epoch-checkpoint, in its documented form or not."""

from __future__ import annotations

from typing import cast
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, tuples

from conformance.core.bench import Bench
from conformance.kip101.leader_epoch_checkpoint import has_entry, is_documented
from conformance.rigs.log.epoch_checkpoint import WRITE_TIMEOUT, entries_of, entry_of, read_epochs
from conformance.rigs.log.partition import Boundary, Partition, PartitionData
from fixtures.waiting import Overdue
from history.readings import File
from protocol.messages import Topic
from tests.support.clocked_bench import ClockedBench


def file(*lines: str) -> File:
    return File("".join(f"{line}\n" for line in lines).encode())


@pytest.mark.parametrize(
    "found",
    [
        File(None),
        File(b""),
        file("1", "1", "0 0"),
        file("0", "2", "0 0"),
        file("0", "1", "0 0", "1 3"),
        file("0", "1", "0  0"),
        file("0", "1", "-1 0"),
        File(b"0\n1\n0 0"),
    ],
    ids=["missing", "empty", "version", "too few", "too many", "blanks", "negative", "no line end"],
)
def test_a_file_of_another_form_has_no_entries(found: File) -> None:
    assert entries_of(found) is None
    assert entry_of(found, 0) is None
    assert not is_documented(found)


@settings(max_examples=20)
@given(lists(tuples(integers(0, 2**31 - 1), integers(0, 2**63 - 1)), max_size=5))
def test_entries_are_read_as_they_stand(entries: list[tuple[int, int]]) -> None:
    found = file("0", str(len(entries)), *(f"{epoch} {start}" for epoch, start in entries))
    assert entries_of(found) == tuple(Boundary(*entry) for entry in entries)
    assert is_documented(found) is bool(entries)


def test_an_entry_is_found_by_its_epoch() -> None:
    found = file("0", "2", "0 0", "4 7")
    assert [entry_of(found, epoch) for epoch in (0, 1, 4)] == [Boundary(0, 0), None, Boundary(4, 7)]
    assert has_entry(Boundary(4, 7), found)
    assert not has_entry(Boundary(4, 6), found)
    assert not has_entry(Boundary(1, 0), found)


class Disk(ClockedBench):
    """A broker that writes its second entry `written_after` seconds after the first look."""

    def __init__(self, written_after: float, late: float = 0.0) -> None:
        super().__init__(late=late)
        self._written_at = self.seconds + written_after

    def read_file(self, name: str, path: str) -> File:
        assert (name, path) == ("broker-2", "topic-0/leader-epoch-checkpoint")
        return BOTH if self.seconds >= self._written_at else ONE


ONE, BOTH = file("0", "1", "0 0"), file("0", "2", "0 0", "4 7")


def read_of(disk: Disk) -> File:
    partition = Partition(cast(Bench, disk), PartitionData(Topic("topic", UUID(int=1)), 0))
    return read_epochs(partition, 2, lambda found: has_entry(Boundary(4, 7), found))


@pytest.mark.parametrize("after", [0.0, 1.0, WRITE_TIMEOUT - 1])
@pytest.mark.parametrize("late", [0.0, WRITE_TIMEOUT])
def test_a_file_that_is_written_in_time_is_read_as_it_is_then(after: float, late: float) -> None:
    assert read_of(Disk(after, late)) == BOTH


@pytest.mark.parametrize("after", [WRITE_TIMEOUT + 1, 1_000.0])
def test_one_that_is_not_is_read_as_it_is_when_it_is_due(after: float) -> None:
    assert read_of(Disk(after)) == ONE


def test_one_for_which_the_kit_starved_proves_nothing() -> None:
    with pytest.raises(Overdue) as overdue:
        read_of(Disk(1_000.0, late=WRITE_TIMEOUT))
    assert (overdue.value.due, overdue.value.within, overdue.value.late) == ("step", WRITE_TIMEOUT, WRITE_TIMEOUT)
