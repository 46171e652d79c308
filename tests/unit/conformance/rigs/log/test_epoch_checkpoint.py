"""Entries of leader-epoch-checkpoint, in its documented form or not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, tuples

from conformance.core.bench import File
from conformance.kip101.leader_epoch_checkpoint import has_entry, is_documented
from conformance.rigs.log.epoch_checkpoint import entries_of, entry_of
from conformance.rigs.log.partition import Boundary


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
