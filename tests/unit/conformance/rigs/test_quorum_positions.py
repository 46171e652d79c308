"""Positions from which a fetch must be told of a divergence: each case's epoch and offset, for any epochs of a log."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conformance.kip595.fetch import _diverging_position
from conformance.rigs.quorum.quorum import EpochStart, skipped_epochs


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


@given(logs(), st.integers(1, 1000), st.integers(0, 3))
def test_an_unknown_epoch_is_one_that_the_log_does_not_have(log: list[EpochStart], by: int, between: int) -> None:
    """The first two epochs may lie side by side while later ones have a gap between them."""
    _, epoch = _diverging_position(log, "epoch-unknown", by, between)
    if skipped_epochs(log):
        assert epoch not in {line.epoch for line in log}
        assert log[0].epoch < epoch < log[-1].epoch


@given(logs(), st.integers(1, 1000))
def test_an_epoch_s_end_is_passed_by_an_offset_beyond_it(log: list[EpochStart], by: int) -> None:
    offset, epoch = _diverging_position(log, "past-epoch-end", by, 0)
    assert (epoch, offset > log[1].start) == (log[0].epoch, True)


def test_skipped_epochs_are_those_without_a_record() -> None:
    assert skipped_epochs([EpochStart(3, 0), EpochStart(4, 38), EpochStart(7, 66), EpochStart(9, 94)]) == [5, 6, 8]
