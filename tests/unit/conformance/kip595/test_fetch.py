"""Where a fetch of the metadata log diverges, by the epochs of the leader's log."""

from __future__ import annotations

from itertools import product

import pytest

from conformance.kip595.fetch import diverging, diverging_position, inside_boundaries, matching_position
from conformance.rigs.quorum.quorum import EpochStart
from protocol.log import EpochAndOffset
from strategies.inputs import Place

LOG = [EpochStart(2, 0), EpochStart(7, 40), EpochStart(9, 50)]


def test_an_epoch_that_the_log_has_or_skips_ends_where_the_next_one_starts() -> None:
    assert diverging(LOG, -1, 2) == EpochAndOffset(2, 40)
    assert diverging(LOG, -1, 8) == EpochAndOffset(7, 50)
    assert diverging(LOG, 63, 9) == EpochAndOffset(9, 63)


def test_below_the_first_epoch_the_snapshot_of_the_log_has_the_largest() -> None:
    """A log whose first leader had epoch 2 begins with the snapshot 0-0: it was answered (0, 0) when asked for epoch 1."""
    assert diverging([EpochStart(0, 0), *LOG], -1, 1) == EpochAndOffset(0, 0)


def test_below_the_first_epoch_of_a_log_without_a_snapshot_the_one_asked_for_is_named() -> None:
    assert diverging(LOG, -1, 1) == EpochAndOffset(1, 0)


END = 63
LANDMARKS = [0, 31, 40, 50, 60, END]
PLACES = [Place(landmark, near) for landmark, near in product(range(12), range(-2, 3))]


def positions(case: str) -> set[tuple[int, int]]:
    return {diverging_position(LOG, case, place, LANDMARKS) for place in PLACES}


def test_each_epoch_is_left_at_the_first_offset_past_its_end_and_later() -> None:
    """Only the offset right after an epoch's end tells an end that is one too high."""
    found = positions("past-epoch-end")
    assert {(41, 2), (42, 2), (51, 7), (52, 7)} <= found
    assert all(diverging(LOG, END, epoch).end_offset < offset for offset, epoch in found)


def test_an_unknown_epoch_comes_with_offsets_on_both_sides_of_each_boundary() -> None:
    found = positions("epoch-unknown")
    assert {epoch for _, epoch in found} == {3, 4, 5, 6, 8}
    assert {39, 40, 41} <= {offset for offset, epoch in found if epoch < 7}


@pytest.mark.parametrize("number", range(200))
def test_a_matching_position_is_in_its_epoch(number: int) -> None:
    for case in ("inside-epoch", "epoch-start"):
        offset, epoch = matching_position(LOG, END, case, number)
        ends = {2: range(1, 41), 7: range(41, 51), 9: range(51, END)}
        assert offset in ends[epoch]


def test_one_record_from_each_boundary_both_epochs_are_looked_at() -> None:
    assert inside_boundaries(LOG, END) == [(1, 2), (39, 2), (41, 7), (49, 7), (51, 9), (62, 9)]
    assert inside_boundaries([EpochStart(2, 0), EpochStart(7, 1), EpochStart(8, 3)], 3) == [(2, 7)]
    assert {matching_position(LOG, END, "inside-epoch", number) for number in range(1, 12, 2)} == set(
        inside_boundaries(LOG, END)
    )
