"""Comparisons of schedules, on replicas and files with one error."""

from __future__ import annotations

import struct

import pytest

from conformance.kip101.alternating_leaders import is_gap, kept_entries
from conformance.kip101.behind_the_log_start import entries_from, nothing_below
from conformance.kip101.flapping import first_difference, last_shared
from conformance.kip101.new_replica import with_records
from conformance.kip320.coordinator_failover import GroupCommit, key_of, newest_value
from conformance.rigs.log.partition import Boundary
from history.readings import EpochEntry, File, HeldBatch, HeldReplica
from protocol.codes import Error
from protocol.log import EpochEnd
from protocol.records import Record


def epochs(*entries: tuple[int, int]) -> File:
    lines = [f"{epoch} {start}\n" for epoch, start in entries]
    return File(f"0\n{len(lines)}\n{''.join(lines)}".encode())


def replica(*batches: tuple[int, int, str], entries: tuple[tuple[int, int], ...] = ()) -> HeldReplica:
    """Batches of one record each: offset, stamp and digest."""
    held = tuple(
        HeldBatch(base_offset=at, last_offset=at, leader_epoch=epoch, crc=1, crc_valid=True, size=70, digest=digest)
        for at, epoch, digest in batches
    )
    map = tuple(EpochEntry(epoch, start) for epoch, start in entries)
    return HeldReplica(node="broker-1", partition="t-0", log_start=0, log_end=9, epochs=map, batches=held)


# --- leader-epoch-checkpoint


def test_an_entry_that_the_leader_never_had_is_a_ghost() -> None:
    assert kept_entries(epochs((0, 0)), epochs((0, 0), (5, 3)), 5)
    assert not kept_entries(epochs((0, 0), (3, 3)), epochs((0, 0), (5, 3)), 5)
    assert not kept_entries(epochs((0, 0), (5, 2)), epochs((0, 0), (5, 3)), 5)
    assert not kept_entries(File(None), epochs((0, 0)), 5)


def test_an_entry_of_a_later_leader_is_no_ghost() -> None:
    """A busy machine may move the lead between the reading of two files."""
    assert kept_entries(epochs((0, 0), (1, 3), (12, 6)), epochs((0, 0), (1, 3)), 11)
    assert not kept_entries(epochs((0, 0), (7, 3), (12, 6)), epochs((0, 0), (1, 3)), 11)


def test_no_entry_may_begin_below_the_log_start() -> None:
    assert entries_from(epochs((2, 7), (3, 9)), 7)
    assert entries_from(epochs(), 7)
    assert not entries_from(epochs((1, 4), (2, 7)), 7)
    assert not entries_from(File(None), 7)


def test_entries_of_epochs_without_records_are_left_out() -> None:
    assert with_records(epochs((0, 0), (2, 3), (3, 3)), {0, 3}) == (Boundary(0, 0), Boundary(3, 3))
    assert with_records(File(None), {0}) == ()


@pytest.mark.parametrize(
    ("answer", "gap"),
    [
        (EpochEnd(version=4, error=Error.NONE, partition=0, leader_epoch=1, end_offset=6), True),
        (EpochEnd(version=4, error=Error.NONE, partition=0, leader_epoch=2, end_offset=6), False),
        (EpochEnd(version=4, error=Error.NONE, partition=0, leader_epoch=1, end_offset=7), False),
        (EpochEnd(version=4, error=Error.NONE, partition=0, leader_epoch=-1, end_offset=-1), False),
    ],
)
def test_a_gap_is_answered_with_its_floor(answer: EpochEnd, gap: bool) -> None:
    assert is_gap(answer, 1, 6) is gap


# --- logs


def test_what_began_again_has_nothing_from_before() -> None:
    assert nothing_below(replica((7, 2, "a"), entries=((2, 7),)), 7)
    assert not nothing_below(replica((6, 2, "x"), (7, 2, "a"), entries=((2, 7),)), 7)
    assert not nothing_below(replica((7, 2, "a"), entries=((1, 3), (2, 7))), 7)


def test_replicas_part_only_below_what_they_share() -> None:
    one = replica((0, 0, "a"), (1, 1, "b"), (2, 1, "c"))
    assert last_shared(one, replica((0, 0, "a"), (1, 2, "z"))) == 0
    assert first_difference(one, replica((0, 0, "a"), (1, 2, "z")), 0) is None
    assert first_difference(one, one, 2) is None


def test_replicas_that_share_a_stamp_and_differ_below_have_parted() -> None:
    one = replica((0, 0, "a"), (1, 1, "b"), (2, 1, "c"))
    assert first_difference(one, replica((0, 0, "a"), (1, 0, "z"), (2, 1, "c")), 2) is not None
    assert first_difference(one, replica((0, 0, "a"), (1, 1, "b"), (2, 1, "z")), 2) is not None
    assert first_difference(one, replica((0, 0, "a"), (2, 1, "c")), 2) is not None
    assert last_shared(one, replica((0, 4, "a"))) is None


# --- stored offsets


def record(key: bytes, version: int, offset: int, epoch: int) -> Record:
    return Record(0, 0, key, struct.pack(">hqi", version, offset, epoch) + b"\0\0")


def test_the_newest_value_of_the_very_key_is_read() -> None:
    commit = GroupCommit("g", 5, 3)
    key, other = key_of(commit, "t"), key_of(GroupCommit("h", 5, 3), "t")
    records = [record(key, 3, 4, 2), record(key, 3, 5, 3), record(other, 1, 9, 9)]
    assert newest_value(records, key) == (3, 5, 3)
    assert newest_value(records[2:], key) is None
