"""The epoch of a leader that was restarted together with controllers (KIP101-EPOCH-04)."""

from __future__ import annotations

import pytest

from conformance.core.checks import ObservationClaim
from conformance.kip101.controller_failures import RestartedLeader, never_at_its_epoch_again
from conformance.rigs.log.partition import Partition, PartitionData
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.messages import Topic


def led(epoch: int) -> PartitionMetadata:
    return PartitionMetadata(error=Error.NONE, partition=0, leader=2, leader_epoch=epoch, replicas=(2,), isr=(2,))


@pytest.mark.parametrize(
    ("now", "stamp", "result"),
    [
        (5, 5, "held"),
        (4, 4, "held"),
        (3, 3, "violated"),
        (4, 3, "violated"),
        (2, 2, "violated"),
    ],
)
def test_a_leader_that_was_restarted_leads_and_writes_at_a_higher_epoch(now: int, stamp: int, result: str) -> None:
    partition = Partition(None, PartitionData(Topic("t"), 0))  # type: ignore[arg-type]  # nothing is requested
    back = RestartedLeader(led(now), stamp)
    [claim] = never_at_its_epoch_again(partition, led(3), back, "broker-and-controller")
    assert isinstance(claim, ObservationClaim)
    assert (claim.observation.case, claim.observation.result) == ("broker-and-controller", result)
