"""The canaries of a night: columns that must not look well. If one does, the night publishes nothing.

One is a broker with a planted bug, another each night, which must turn its rows red; the other a cluster in which nothing
listens, which must satisfy no row.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import msgspec

from conformance.campaign.night.attempts import FoundAttempt, why_dead
from conformance.campaign.night.plan import Canary, place_of
from conformance.judging.news import BROKEN, NOT_EXECUTED, UNJUDGED, WELL
from conformance.judging.verdicts import Verdict
from history.exit_codes import EXIT_TROUBLE

EMPTY = "canary-empty"
BROKEN_BY_NOTHING = ["GEN-10"]
"""The row that a cluster whose nodes end as they start breaks: a node that is started comes up."""

Verdicts = Mapping[str, Verdict]


class PlantedBug(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant: the rows that probes must find `violated`, and those that may be."""

    name: str
    red: list[str]
    may: list[str]


class CanaryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a canary: `looks_well` is why nothing is published, `trouble` is what else is wrong with it."""

    name: str
    looks_well: str = ""
    trouble: list[str] = []

    @property
    def exit_code(self) -> int:
        return EXIT_TROUBLE if self.looks_well or self.trouble else 0

    @property
    def reasons(self) -> list[str]:
        return [*filter(None, [self.looks_well]), *self.trouble]


def plan_canaries(night: str, version: str, bugs: Sequence[PlantedBug]) -> list[Canary]:
    """Return the canaries of a night, on one version: the bug whose turn it is, and an empty cluster for its rows."""
    bug = bugs[_turn_of(night) % len(bugs)]
    return [
        Canary(name=f"canary-{bug.name}", kafka_version=version, mutant=bug.name, red=bug.red, may=bug.may),
        Canary(name=EMPTY, kafka_version=version, red=bug.red, may=BROKEN_BY_NOTHING),
    ]


def _turn_of(night: str) -> int:
    place = place_of(night)
    return date(*place).toordinal() if len(place) == 3 else place[-1]


def canary_outcome(
    canary: Canary,
    counting: Sequence[FoundAttempt],
    all_attempts: Iterable[FoundAttempt],
    now: Verdicts,
    unharmed: Verdicts,
) -> CanaryOutcome:
    """Judge a canary's column; `unharmed` is that night's column of the version without the bug, empty if there is none."""
    if not counting:
        dead = [why_dead(one) for one in all_attempts if one.attempt.leg == canary.name] or ["it never began"]
        return CanaryOutcome(name=canary.name, trouble=dead)
    seen = _mutant_outcome(canary, now, unharmed) if canary.mutant else _empty_outcome(canary, now)
    trouble = [reason for one in counting if one.end for reason in one.end.trouble]
    return msgspec.structs.replace(seen, trouble=[*trouble, *seen.trouble])


def _empty_outcome(canary: Canary, now: Verdicts) -> CanaryOutcome:
    well = [row for row, seen in now.items() if seen in WELL]
    others = [row for row, seen in now.items() if seen in BROKEN and row not in canary.may]
    is_asked = any(seen not in ("not-run", *UNJUDGED) for seen in now.values())
    return CanaryOutcome(
        name=canary.name,
        looks_well="".join(_named("an empty cluster satisfies {}", well)),
        trouble=[
            *_named("nothing was asked of an empty cluster about {}", [] if is_asked else canary.red),
            *_named("an empty cluster breaks {}", others),
        ],
    )


def _mutant_outcome(canary: Canary, now: Verdicts, unharmed: Verdicts) -> CanaryOutcome:
    broken = [row for row, seen in now.items() if seen in BROKEN]
    if not set(broken) & set(canary.red):
        return CanaryOutcome(name=canary.name, looks_well=f"{canary.mutant} turns none of {', '.join(canary.red)} red")
    missed = [row for row in canary.red if now.get(row, "not-run") not in (*BROKEN, *NOT_EXECUTED)]
    in_trouble = [row for row in canary.red if now.get(row) == "error"]
    known = {*canary.red, *canary.may, *(row for row, seen in unharmed.items() if seen in BROKEN)}
    others = [row for row in broken if row not in known] if unharmed else []
    return CanaryOutcome(
        name=canary.name,
        trouble=[
            *_named(f"{canary.mutant} does not turn {{}} red", missed),
            *_named(f"{{}} of {canary.mutant} ended in trouble of the kit", in_trouble),
            *_named(f"{canary.mutant} turns {{}} red as well", others),
        ],
    )


def _named(text: str, rows: Sequence[str]) -> list[str]:
    return [text.format(", ".join([*rows[:5], *(["…"] if rows[5:] else [])]))] if rows else []
