"""A disturbed quorum in memory, as far as the claims of schedules look at it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from conformance.core.checks import Claim, ExcuseClaim, ObservationClaim, PremiseClaim
from conformance.core.waiting import Settled
from conformance.rigs.quorum.disturbed import DisturbedQuorum
from conformance.rigs.quorum.writer import Outcome, Write
from protocol.log import LeaderAndEpoch
from protocol.quorum import QuorumAnswer

CONTROLLERS = ("controller-101", "controller-102", "controller-103")
TRIES = 3
LED = LeaderAndEpoch(101, 4)


class Waits:
    """Waits that end after some tries, in which the kit woke this late."""

    def __init__(self, late: float) -> None:
        self.late = late

    def recorded_late(self, within: float) -> float:
        return self.late

    def becomes_true(self, probe: Callable[[], bool], what: str, within: float) -> Settled:
        return Settled(TRIES, any(probe() for _ in range(TRIES)), within, self.late)


class FakeWriter:
    def __init__(self, kept: Sequence[str], deleted: Collection[str], outcome: Outcome) -> None:
        self._kept = [*kept]
        self._outcome = outcome
        self.looks: list[Sequence[str]] = [()]
        self.deleted = {*deleted}

    def kept_topics(self) -> list[str]:
        return self._kept

    def read_back(self, nodes: Sequence[str]) -> Mapping[str, Mapping[str, UUID | None]]:
        """Show the next of the looks at all nodes, and the last one from then on."""
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        return {name: dict.fromkeys(found) for name in nodes}

    def create(self, node: str) -> Write:
        return Write("a", node, self._outcome, 1.0)


class FakeDisturbed:
    """`known` are the leaders that controllers name, `led` the one on which all agree, `shown` the topics of each broker."""

    controllers = CONTROLLERS
    brokers = ("broker-1", "broker-2")

    def __init__(
        self,
        led: LeaderAndEpoch = LED,
        *,
        known: Mapping[str, LeaderAndEpoch] | None = None,
        described: QuorumAnswer | None = None,
        late: float = 0.0,
        kept: Sequence[str] = (),
        shown: Mapping[str, Mapping[str, UUID | None]] | None = None,
        deleted: Collection[str] = (),
        writes: Outcome = "acknowledged",
    ) -> None:
        self.wait = Waits(late)
        self.led = led
        self.shown = shown or {}
        self.same = Settled(TRIES, len(set(map(str, self.shown.values()))) <= 1, 30.0, late)
        self.writer = FakeWriter(kept, deleted, writes)
        self._known = known or dict.fromkeys(CONTROLLERS, led)
        self._described = described
        self._seconds = 0.0
        self.led_before: LeaderAndEpoch | None = None

    @property
    def bench(self) -> FakeDisturbed:
        return self

    @property
    def quorum(self) -> FakeDisturbed:
        return self

    def agreed_leader(self) -> LeaderAndEpoch:
        return self.led

    def id_of(self, name: str) -> int:
        return int(name.removeprefix("controller-"))

    def known_by(self, names: Iterable[str]) -> dict[str, LeaderAndEpoch]:
        return {name: self._known[name] for name in names if name in self._known}

    def leader_if_agreed(self, names: Sequence[str]) -> LeaderAndEpoch | None:
        return DisturbedQuorum.leader_if_agreed(as_disturbed(self), names)

    def answers(self, names: Iterable[str], ask: Callable[[str], Any]) -> dict[str, Any]:
        return {name: ask(name) for name in names}

    def describe(self, name: str) -> QuorumAnswer | None:
        return self._described

    def node(self, name: str, *, controller: bool = False) -> FakeDisturbed:
        return self

    def describe_quorum(self) -> QuorumAnswer | None:
        return self._described

    def seconds(self) -> float:
        self._seconds += 6.0
        return self._seconds


def as_disturbed(fake: FakeDisturbed) -> DisturbedQuorum:
    return cast(DisturbedQuorum, fake)


def results(claims: Iterable[Claim]) -> list[tuple[str, str]]:
    """Return case and result of observations; an excuse is its name, an unmet premise its text."""
    found: list[tuple[str, str]] = []
    for one in claims:
        if isinstance(one, ObservationClaim):
            found.append((one.observation.case, one.observation.result))
        elif isinstance(one, ExcuseClaim):
            found.append((one.case, one.evidence.name))
        elif isinstance(one, PremiseClaim) and not one.met:
            found.append(("unmet", one.what))
    return found
