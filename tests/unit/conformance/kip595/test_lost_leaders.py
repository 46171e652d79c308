"""Voters refer to the leader that was elected once another was lost (KIP595-OBS-02)."""

from __future__ import annotations

import pytest

from conformance.kip595.lost_leaders import refers_to
from protocol.codes import Error
from protocol.log import FetchedPartition, LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC
from tests.support.disturbed_quorum import results

LED = LeaderAndEpoch(102, 5)


@pytest.mark.parametrize(
    ("error", "named", "result"),
    [
        (Error.NOT_LEADER_OR_FOLLOWER, LED, "held"),
        (Error.NOT_LEADER_OR_FOLLOWER, LeaderAndEpoch(101, 4), "violated"),
        (Error.NOT_LEADER_OR_FOLLOWER, None, "violated"),
        (Error.NONE, LED, "violated"),
        (Error.FENCED_LEADER_EPOCH, LED, "violated"),
    ],
)
def test_a_voter_refers_to_the_leader(error: Error, named: LeaderAndEpoch | None, result: str) -> None:
    answer = FetchedPartition(version=12, topic=METADATA_TOPIC, partition=0, error=error, current_leader=named)
    assert results([refers_to(LED, answer)]) == [("not-leader", result)]
