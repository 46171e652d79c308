"""Log ends of voters, by DescribeQuorum."""

from __future__ import annotations

import pytest

from conformance.rigs.quorum.fetching import majority_has, own_end
from protocol.quorum import METADATA_TOPIC, QuorumAnswer, QuorumReplica


def described(*ends: int, watermark: int = 5) -> QuorumAnswer:
    voters = tuple(QuorumReplica(replica_id=id, log_end_offset=end) for id, end in enumerate(ends, 1))
    return QuorumAnswer(version=2, topic=METADATA_TOPIC, partition=0, high_watermark=watermark, current_voters=voters)


def test_a_voter_has_its_own_log_end_and_others_have_none() -> None:
    assert [own_end(id, described(7, 5, 3)) for id in (1, 3, 4)] == [7, 3, -1]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((5, 5, 5), True),
        ((6, 5, 0), True),
        ((6, 4, 4), False),
        ((5, 5, 4, 4), False),
        ((5, 5, 5, 0), True),
        ((5,), True),
        ((4,), False),
        ((), False),
    ],
)
def test_more_than_half_of_the_voters_have_to_reach_the_high_watermark(ends: tuple[int, ...], expected: bool) -> None:
    assert majority_has(described(*ends)) is expected
