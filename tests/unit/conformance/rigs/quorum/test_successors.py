"""Which description of the quorum shows that another controller leads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

import pytest

from conformance.core.bench import Bench
from conformance.core.checks import ObservationClaim
from conformance.core.waiting import Settled
from conformance.rigs.quorum.successors import other_leader, successor_leads
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC, QuorumAnswer
from tests.support.disturbed_quorum import FakeDisturbed, as_disturbed
from tests.support.disturbed_quorum import results as outcomes


def described(error: Error = Error.NONE, watermark: int = -1) -> QuorumAnswer:
    return QuorumAnswer(
        version=2, topic=METADATA_TOPIC, partition=0, error=error, leader_id=2, leader_epoch=4, high_watermark=watermark
    )


class Controllers:
    """A bench of controllers with these answers to DescribeQuorum; one without an answer is down."""

    def __init__(self, **answers: QuorumAnswer | None) -> None:
        self.controllers = list(answers)
        self._answers = answers

    def answers(self, names: Iterable[str], ask: Callable[[str], QuorumAnswer]) -> dict[str, QuorumAnswer]:
        return {name: answer for name in names if (answer := self._answers[name]) is not None}

    @property
    def wait(self) -> Controllers:
        return self

    def becomes_true(self, probe: Callable[[], bool], what: str, within: float) -> Settled:
        return Settled(1, probe(), within)


UNMET = ("unmet", "a successor of controller-101 with a high watermark")
FOLLOWS = described(Error.NOT_LEADER_OR_FOLLOWER)


def besides(**answers: QuorumAnswer | None) -> QuorumAnswer | None:
    return other_leader(cast(Bench, Controllers(**answers)), "a")


def test_only_a_leader_with_a_high_watermark_counts() -> None:
    leads = described(watermark=9)
    assert besides(a=None, b=FOLLOWS, c=leads) is leads
    assert besides(a=None, b=FOLLOWS, c=described()) is None
    assert besides(a=None, b=FOLLOWS, c=None) is None


def test_what_the_lost_leader_says_does_not_count() -> None:
    assert besides(a=described(watermark=9), b=FOLLOWS, c=FOLLOWS) is None


def test_a_successor_that_commits_nothing_is_a_violation() -> None:
    def results(**answers: QuorumAnswer | None) -> list[str]:
        claims = successor_leads(cast(Bench, Controllers(**answers)), "a")
        return [one.observation.result for one in claims if isinstance(one, ObservationClaim)]

    assert results(a=None, b=FOLLOWS, c=described(watermark=0)) == ["held"]
    assert results(a=None, b=FOLLOWS, c=described()) == ["violated"]


@pytest.mark.parametrize(
    ("watermark", "error", "late", "found"),
    [
        (9, Error.NONE, 0.0, [("killed", "held")]),
        (-1, Error.NONE, 0.0, [("killed", "violated"), UNMET]),
        (9, Error.NOT_LEADER_OR_FOLLOWER, 0.0, [("killed", "violated"), UNMET]),
        (-1, Error.NONE, 9.0, [("killed", "kit-starved"), UNMET]),
    ],
)
def test_a_late_kit_knows_nothing_of_a_successor(
    watermark: int, error: Error, late: float, found: list[tuple[str, str]]
) -> None:
    answer = described(error, watermark)
    fake = as_disturbed(FakeDisturbed(described=answer, late=late)).bench
    assert outcomes(successor_leads(fake, "controller-101", row="KIP595-ELEC-05", case="killed")) == found
