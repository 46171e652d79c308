"""Once a leader is lost another one comes in time (KIP595-ELEC-05), and voters refer to it (KIP595-OBS-02)."""

from __future__ import annotations

import pytest

from conformance.kip595.lost_leaders import others_elect_a_leader, refers_to
from protocol.codes import Error
from protocol.log import FetchedPartition, LeaderAndEpoch
from protocol.quorum import METADATA_TOPIC, QuorumAnswer
from tests.support.disturbed_quorum import FakeDisturbed, as_disturbed, results

LED = LeaderAndEpoch(102, 5)
UNMET = ("unmet", "a successor of controller-101 with a high watermark")


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


def described(error: Error, watermark: int) -> QuorumAnswer:
    return QuorumAnswer(
        version=1, topic=METADATA_TOPIC, partition=0, error=error, leader_id=102, high_watermark=watermark
    )


@pytest.mark.parametrize(
    ("answer", "late", "found"),
    [
        (described(Error.NONE, 9), 0.0, [("killed", "held")]),
        (described(Error.NONE, -1), 0.0, [("killed", "violated"), UNMET]),
        (described(Error.NOT_LEADER_OR_FOLLOWER, 0), 0.0, [("killed", "violated"), UNMET]),
        (described(Error.NONE, -1), 9.0, [("killed", "kit-starved"), UNMET]),
    ],
)
def test_another_leads_with_a_high_watermark(answer: QuorumAnswer, late: float, found: list[tuple[str, str]]) -> None:
    fake = FakeDisturbed(described=answer, late=late)
    assert results(others_elect_a_leader(as_disturbed(fake), "controller-101", "killed")) == found
