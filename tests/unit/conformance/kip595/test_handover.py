"""How soon a leader of the quorum is followed: after SIGTERM, and after a kill under two fetch timeouts (KIP-595)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from conformance.core.checks import Claim, ExcuseClaim, ObservationClaim
from conformance.core.cluster import Moment
from conformance.core.waiting import Settled
from conformance.kip595.handover import leader_hands_over, leader_is_replaced_after_a_longer_fetch_timeout
from conformance.kip595.handover import leader_is_replaced_after_the_fetch_timeout as after_the_default
from conformance.rigs.quorum.lab import QuorumLab
from protocol.codes import Error
from protocol.quorum import METADATA_TOPIC, QuorumAnswer

LEADS = QuorumAnswer(version=1, topic=METADATA_TOPIC, partition=0, error=Error.NONE, leader_id=101, leader_epoch=3)


class ReplacedAfter:
    """A quorum whose leader is followed `elects` seconds after it went, and serves writes `serves` seconds after it went."""

    def __init__(self, elects: float, serves: float = 0.0, late: float = 0.0) -> None:
        self.elects, self.serves, self.late = elects, max(elects, serves), late
        self.seconds = 0.0
        self.bench = self.wait = self.processes = self

    def now(self) -> Moment:
        return Moment(self.seconds, 0)

    def name_of(self, id: int) -> str:
        return f"controller-{id}"

    def await_caught_up(self) -> tuple[Settled, QuorumAnswer]:
        return Settled(1, True), LEADS

    @contextmanager
    def down(self, name: str, role: str = "") -> Iterator[None]:
        yield

    shutting_down = down

    def await_successor(self, gone: str, within: float) -> tuple[Settled, QuorumAnswer | None]:
        settled = self._until(self.elects, within)
        return settled, LEADS if settled.outcome else None

    def await_write(self, gone: str, within: float) -> Settled:
        return self._until(self.serves, within)

    def end_of_wait(self, met: bool, within: float) -> Settled:
        return Settled(1, met, within, self.late)

    def _until(self, at: float, within: float) -> Settled:
        met = at <= self.seconds + within
        self.seconds = max(self.seconds, at) if met else self.seconds + within
        return Settled(1, met, within, self.late)


def results(claims: Iterable[Claim]) -> dict[str, str]:
    found = dict[str, str]()
    for one in claims:
        if isinstance(one, ObservationClaim):
            found[one.observation.requirement or one.observation.case] = one.observation.result
        elif isinstance(one, ExcuseClaim):
            found[one.row] = one.evidence.name
    return found


@pytest.mark.parametrize(
    ("elects", "serves", "found"),
    [
        (0.5, 0.6, ("held", "held")),
        (4.9, 5.4, ("held", "held")),
        (0.5, 7.0, ("held", "violated")),
        (9.5, 9.6, ("violated", "violated")),
    ],
)
def test_a_handover_is_over_within_five_seconds(elects: float, serves: float, found: tuple[str, str]) -> None:
    seen = results(leader_hands_over.body(cast(QuorumLab, ReplacedAfter(elects, serves))))
    assert (seen["KIP595-LIVE-07"], seen["KIP595-END-05"]) == found


def test_a_kit_that_starved_leaves_it_open() -> None:
    seen = results(leader_hands_over.body(cast(QuorumLab, ReplacedAfter(9.5, late=2.0))))
    assert seen == {"KIP595-LIVE-07": "kit-starved", "KIP595-END-05": "kit-starved"}


@pytest.mark.parametrize(
    ("body", "case", "elects", "result"),
    [
        (after_the_default.body, "default", 2.5, "held"),
        (after_the_default.body, "default", 0.4, "violated"),
        (after_the_default.body, "default", 9.0, "violated"),
        (leader_is_replaced_after_a_longer_fetch_timeout.body, "longer", 11.0, "held"),
        (leader_is_replaced_after_a_longer_fetch_timeout.body, "longer", 3.0, "violated"),
        (leader_is_replaced_after_a_longer_fetch_timeout.body, "longer", 20.0, "violated"),
    ],
)
def test_a_dead_leader_is_followed_after_the_fetch_timeout(
    body: Callable[[QuorumLab], Iterable[Claim]], case: str, elects: float, result: str
) -> None:
    assert results(body(cast(QuorumLab, ReplacedAfter(elects)))) == {case: result}
