"""The ids that snapshots of a log would have."""

from __future__ import annotations

from conformance.kip595.replica_ids import snapshot_id_at
from conformance.rigs.quorum.quorum import EpochStart
from protocol.log import EpochAndOffset

LOG = [EpochStart(2, 0), EpochStart(7, 40), EpochStart(9, 50)]


def test_it_has_the_epoch_of_its_last_record() -> None:
    ids = [snapshot_id_at(LOG, offset) for offset in (0, 1, 40, 41, 50, 51)]
    assert ids == [EpochAndOffset(epoch, end) for epoch, end in [(2, 1), (2, 1), (2, 40), (7, 41), (7, 50), (9, 51)]]
