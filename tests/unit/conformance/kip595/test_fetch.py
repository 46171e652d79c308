"""Where a fetch of the metadata log diverges, by the epochs of the leader's log."""

from __future__ import annotations

from conformance.kip595.fetch import diverging
from conformance.rigs.quorum.quorum import EpochStart
from protocol.log import EpochAndOffset

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
