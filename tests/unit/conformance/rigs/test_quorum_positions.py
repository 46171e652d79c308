"""Positions from which a fetch must be told of a divergence: each case's epoch and offset, for any epochs of a log."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core.checks import Check, all_checks
from conformance.kip595.fetch import diverging_position
from conformance.rigs.quorum.quorum import EpochStart, skipped_epochs
from conformance.running.probe.run import draw_inputs
from strategies.inputs import PLACES, Place


@st.composite
def logs(draw: st.DrawFn) -> list[EpochStart]:
    """Epochs and offsets that grow; elections without a winner leave gaps between some epochs."""
    steps = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 40)), min_size=2, max_size=6))
    log, epoch, start = [], 0, 0
    for later, further in steps:
        epoch += later
        log.append(EpochStart(epoch, start))
        start += further
    return log


@given(logs(), PLACES)
def test_an_unknown_epoch_is_one_that_the_log_does_not_have(log: list[EpochStart], place: Place) -> None:
    """The first two epochs may lie side by side while later ones have a gap between them."""
    _, epoch = diverging_position(log, "epoch-unknown", place, [line.start for line in log])
    if skipped_epochs(log):
        assert epoch not in {line.epoch for line in log}
        assert log[0].epoch < epoch < log[-1].epoch


@given(logs(), PLACES)
def test_an_epoch_s_end_is_passed_by_an_offset_beyond_it(log: list[EpochStart], place: Place) -> None:
    offset, epoch = diverging_position(log, "past-epoch-end", place, [line.start for line in log])
    [end] = [later.start for line, later in pairwise(log) if line.epoch == epoch]
    assert offset > end


POSITIONED = [
    check
    for check in all_checks().values()
    if isinstance(check, Check)
    and any(row.startswith("KIP595-") for row in check.own_rows)
    and "place" in check.strategies
]


@pytest.mark.parametrize("check", POSITIONED, ids=lambda check: check.id.rpartition(".")[2])
def test_most_positions_that_are_drawn_lie_inside_a_log_of_two_hundred_records(check: Check) -> None:
    """Positions from 1 to 1,000 hardly ever fell inside such a log."""
    log = [0, 38, 66, 94, 100, 198, 200]
    drawn = [inputs["place"].among(log) for inputs in draw_inputs(check.strategies, 1, 40)]
    assert sum(offset < 200 for offset in drawn) > 20
    assert len({min(log, key=lambda mark: abs(mark - offset)) for offset in drawn}) >= 5


def test_the_probes_of_positions_draw_places() -> None:
    assert len(POSITIONED) >= 7


def test_skipped_epochs_are_those_without_a_record() -> None:
    assert skipped_epochs([EpochStart(3, 0), EpochStart(4, 38), EpochStart(7, 66), EpochStart(9, 94)]) == [5, 6, 8]
