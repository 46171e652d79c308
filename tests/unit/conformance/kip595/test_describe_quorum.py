"""Which answer of a broker to DescribeQuorum is the leader's of that time (KIP595-DQ-03)."""

from __future__ import annotations

import pytest

from conformance.kip595.describe_quorum import lies_between
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica


def described(
    watermark: int,
    *ends: int,
    observer: int = 0,
    ghost: int | None = None,
    epoch: int = 4,
    error: Error = Error.NONE,
) -> QuorumAnswer:
    observers = {1: observer} | ({7000: ghost} if ghost is not None else {})
    return QuorumAnswer(
        version=2,
        topic=METADATA_TOPIC,
        partition=0,
        error=error,
        leader_id=101,
        leader_epoch=epoch,
        high_watermark=watermark,
        current_voters=tuple(QuorumReplica(replica_id=id, log_end_offset=end) for id, end in enumerate(ends, 101)),
        observers=tuple(QuorumReplica(replica_id=id, log_end_offset=end) for id, end in observers.items()),
    )


EARLIER, LATER = described(10, 12, 10, 9, observer=9), described(14, 14, 14, 13, observer=14, ghost=3)


def test_an_answer_between_the_leaders_own_is_its_answer() -> None:
    assert lies_between(EARLIER, described(12, 14, 12, 11, observer=12), LATER)
    assert lies_between(EARLIER, EARLIER, LATER)
    assert lies_between(EARLIER, LATER, LATER)


@pytest.mark.parametrize(
    "answer",
    [
        described(9, 12, 10, 9, observer=9),
        described(15, 14, 14, 13, observer=14),
        described(12, 11, 10, 9, observer=9),
        described(12, 14, 12, 11, observer=8),
        described(12, 14, 12, observer=12),
        described(12, 14, 12, 11, observer=12, epoch=3),
        described(12, 14, 12, 11, observer=12, error=Error.NOT_LEADER_OR_FOLLOWER),
    ],
    ids=["cached", "from the future", "voter behind", "observer behind", "voter missing", "former epoch", "error"],
)
def test_any_other_is_not(answer: QuorumAnswer) -> None:
    assert not lies_between(EARLIER, answer, LATER)
