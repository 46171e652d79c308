"""Which answer of a broker to DescribeQuorum is the leader's of that time (KIP595-DQ-03)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from conformance.core.checks import ObservationClaim, PremiseClaim
from conformance.kip595.describe_quorum import broker_forwards_describe_quorum, lies_between
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


class Broker:
    """A broker that forwards DescribeQuorum, or invents high watermarks; and its cluster, whose leader commits something between
    two of its descriptions."""

    brokers = ("broker-1",)

    def __init__(self, *invented: int) -> None:
        self._invented = list(invented)
        self._committed = 10
        self.bench = self

    def node(self, name: str) -> Broker:
        return self

    def fresh_name(self, hint: str) -> str:
        return hint

    def create_topics(self, topics: object) -> SimpleNamespace:
        return SimpleNamespace(topics=[SimpleNamespace(error=Error.NONE)])

    delete_topics = create_topics

    def describe_by_leader(self) -> QuorumAnswer:
        self._committed += 2
        return described(self._committed, self._committed, observer=self._committed)

    def describe_quorum(self) -> QuorumAnswer:
        at = self._invented.pop(0) if self._invented else self._committed
        return described(at, self._committed, observer=self._committed)


@pytest.mark.parametrize(
    ("broker", "result"), [(Broker(), "held"), (Broker(99, 99), "violated"), (Broker(3, 3), "violated")]
)
def test_an_invented_high_watermark_is_no_lost_premise(broker: Broker, result: str) -> None:
    claims = list(broker_forwards_describe_quorum.body(broker, broker=0))
    assert [one.met for one in claims if isinstance(one, PremiseClaim)] == [True, True, True]
    assert [one.observation.result for one in claims if isinstance(one, ObservationClaim)] == [result]


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
