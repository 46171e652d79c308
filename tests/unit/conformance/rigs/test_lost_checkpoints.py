"""A replica that lost leader-epoch-checkpoint after a clean stop, compared with its leader (KIP101-CACHE-06)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.core.checks import ObservationClaim
from conformance.kip101.lost_checkpoints import rebuilt_from_the_leader
from conformance.rigs.log.crashes import AcknowledgedRecord, Crashing
from conformance.rigs.log.partition import Boundary
from protocol.codes import Error
from protocol.log import FetchedPartition
from protocol.records import Batch, Codec, Record

REPLICA, LEADER = 1, 2
MARK = 2
"""The high watermark to which the replica truncated: the first batch that it copied again is that of offset 2."""


def one(offset: int, epoch: int, value: bytes) -> Batch:
    record = Record(offset=offset, timestamp=0, key=None, value=value)
    return Batch(
        base_offset=offset, last_offset=offset, leader_epoch=epoch, crc=0, crc_valid=True, attributes=0, codec=Codec.NONE,
        base_timestamp=0, max_timestamp=0, size=70, records=(record,),
    )  # fmt: skip


LOG = (one(0, 0, b"a"), one(1, 0, b"b"), one(2, 1, b"c"), one(3, 2, b"d"))
ALL = [
    AcknowledgedRecord(0, 0, b"a"),
    AcknowledgedRecord(1, 0, b"b"),
    AcknowledgedRecord(2, 1, b"c"),
    AcknowledgedRecord(3, 2, b"d"),
]
REBUILT = (Boundary(1, 2), Boundary(2, 3))


class Restarted(Crashing):
    """The replica and its leader, with these batches, and the replica's entries."""

    def __init__(self, mine: tuple[Batch, ...], theirs: tuple[Batch, ...], entries: tuple[Boundary, ...]) -> None:
        self.logs = {REPLICA: mine, LEADER: theirs}
        self.held = entries

    def read(self, id: int) -> FetchedPartition:
        return FetchedPartition(
            version=12, error=Error.NONE, partition=0, high_watermark=4, last_stable_offset=4, log_start_offset=0,
            batches=self.logs[id],
        )  # fmt: skip

    def entries(self, id: int, until: Callable[[tuple[Boundary, ...]], bool]) -> tuple[Boundary, ...]:
        return self.held


def result(mine: tuple[Batch, ...], theirs: tuple[Batch, ...], entries: tuple[Boundary, ...]) -> tuple[str, str]:
    partition = Restarted(mine, theirs, entries)
    [claim] = rebuilt_from_the_leader(partition, REPLICA, LEADER, MARK, ALL, "clean-stop-follower")
    assert isinstance(claim, ObservationClaim)
    return claim.observation.case, claim.observation.result


def test_epochs_below_the_high_watermark_stay_unknown() -> None:
    assert result(LOG, LOG, REBUILT) == ("clean-stop-follower", "held")


@pytest.mark.parametrize(
    ("mine", "theirs", "entries"),
    [
        pytest.param(LOG, LOG, (), id="nothing was rebuilt"),
        pytest.param(LOG, LOG, (Boundary(0, 0), *REBUILT), id="an epoch that it did not copy"),
        pytest.param(LOG, LOG, (Boundary(1, 2), Boundary(2, 4)), id="an entry beyond its first record"),
        pytest.param(LOG[:3], LOG, REBUILT[:1], id="a record that it lacks"),
        pytest.param((*LOG[:3], one(3, 2, b"x")), LOG, REBUILT, id="another record"),
        pytest.param(LOG[:3], LOG[:3], REBUILT[:1], id="an acknowledged record that both lost"),
    ],
)
def test_a_replica_that_differs_from_its_leader_is_seen(
    mine: tuple[Batch, ...], theirs: tuple[Batch, ...], entries: tuple[Boundary, ...]
) -> None:
    assert result(mine, theirs, entries) == ("clean-stop-follower", "violated")
