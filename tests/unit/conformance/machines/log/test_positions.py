"""The positions of a client: what a fetch showed below the high watermark, and nothing above it."""

from __future__ import annotations

import pytest

from conformance.core.roles import Absent
from conformance.machines.log.positions import Positions
from protocol.log import FetchedPartition
from tests.support.histories import stamped

READ = FetchedPartition(
    version=17, partition=0, high_watermark=3, batches=(stamped(4, 0, "a"), stamped(5, 1, "b", "c"), stamped(5, 3, "d"))
)


def test_a_position_is_a_committed_record_with_its_leader_epoch() -> None:
    positions = Positions()
    positions.note("strict-0", READ)
    assert [positions.earlier("strict-0", back) for back in range(4)] == [(2, 5), (1, 5), (0, 4), (2, 5)]


def test_markers_of_transactions_are_no_position() -> None:
    positions = Positions()
    marker = (stamped(4, 0, "commit", control=True),)
    positions.note("strict-0", FetchedPartition(version=17, partition=0, high_watermark=1, batches=marker))
    with pytest.raises(Absent, match="nothing was read from strict-0"):
        positions.earlier("strict-0", 0)


def test_the_end_never_falls() -> None:
    positions = Positions()
    positions.note_end("strict-0", 7)
    positions.note("strict-0", READ)
    assert positions.ends["strict-0"] == 7


def test_the_last_of_each_epoch_is_revisited() -> None:
    positions = Positions()
    positions.note("strict-0", READ)
    assert list(positions.last_of_epochs(3)) == [("strict-0", (0, 4)), ("strict-0", (2, 5))]
    assert list(positions.last_of_epochs(1)) == [("strict-0", (2, 5))]


def test_a_partition_that_is_created_again_has_none() -> None:
    positions = Positions()
    positions.note("fleeting-0", READ)
    positions.forget("fleeting-0")
    assert (positions.ends["fleeting-0"], list(positions.last_of_epochs(3))) == (0, [])
