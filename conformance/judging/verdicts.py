"""The verdict of a cell, decided once over the pooled observations of all its checks.

pytest's controller and the Spark report use the same function.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from conformance.catalogue import Facts, Requirement
from conformance.catalogue.floors import by_situation, floor_of, may_fill
from conformance.catalogue.rows import RECORDED
from history.command import COMMAND
from history.observations import KEEPS, KEEPS_NOT
from history.shards import AttemptCount

Verdict = Literal[
    "violated",
    "flaky",
    "error",
    "inconclusive",
    "satisfied",
    "not-run",
    "untested",
    "inapplicable",
    "recorded",
]

VERDICTS: tuple[Verdict, ...] = (
    "violated", "flaky", "error", "inconclusive", "satisfied", "recorded", "not-run", "untested", "inapplicable",
)  # fmt: skip


class CaseTally(msgspec.Struct, frozen=True, kw_only=True):
    """The pooled observations of one case. `inputs`, `examples` and `situations` are numbers of distinct ones. `situations` are
    those of held observations that are not calm, and `changed` those among them whose subject a fault had changed. `calm` counts
    the held observations that are, and `calm_examples` the examples with no others, which fill no floor of a property.

    `kept` counts recorded observations that keep the promise of a later KIP. `wavering`: identical tries of a probe gave
    different legal answers.

    `excused` and `left_out` count what judges left undecided, by name; `outside` counts what the row itself excludes. Of the
    `attempts` for the case, `lost` lost their premise.
    """

    held: int = 0
    violated: int = 0
    recorded: int = 0
    kept: int = 0
    changed: int = 0
    inputs: int = 0
    examples: int = 0
    situations: int = 0
    calm: int = 0
    calm_examples: int = 0
    wavering: bool = False
    excused: dict[str, int] = {}
    left_out: dict[str, int] = {}
    outside: dict[str, int] = {}
    attempts: int = 0
    lost: int = 0

    @property
    def observations(self) -> int:
        return self.held + self.violated + self.recorded

    @property
    def undecided(self) -> int:
        return sum(self.excused.values()) + sum(self.left_out.values())


class CellEvidence(msgspec.Struct, kw_only=True):
    """All evidence about one row on one column.

    `checks` is the number of checks that the kit has for the row, `ran` how many of them ran, `errors` how many ended in trouble
    of the kit. `changed`: the row has changed since, so that its observations no longer count. `lost` is what is known to be
    missing from the column's shards; it may have been a violation, so nothing is satisfied. `attempts` are those for no case, by
    check. `hindrance` is the row that the tested system broke, and how, so that a check could not go on.
    """

    cases: dict[str, CaseTally] = {}
    checks: int = 0
    ran: int = 0
    errors: int = 0
    changed: bool = False
    lost: str = ""
    attempts: dict[str, AttemptCount] = {}
    hindrance: str = ""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One row on one column. `cases` has the applicable cases, observed or not, and any other case that was observed.

    `value` is for a row of level `later`: whether the promise is kept. `attempts` has the checks with examples that lost their
    premise or ended in trouble of the kit.
    """

    requirement: str
    kafka_version: str
    verdict: Verdict
    reason: str
    value: str = ""
    observations: int
    violations: int
    cases: dict[str, CaseTally]
    attempts: dict[str, AttemptCount] = {}


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    reason: str
    value: str = ""


def why_below_floor(row: Requirement, case: str, tally: CaseTally) -> str:
    """Return why this case is not enough for `satisfied`; empty if it is."""
    floor = floor_of(row, case)
    held, examples = count_towards_floor(row, case, tally)
    counted = f"distinct situations in {tally.held} observations" if by_situation(row, case) else "observations"
    calm = f" ({idle} calm ones do not count)" if (idle := count_idle(row, case, tally)) else ""
    for what, have, want in (
        (f"{counted}{calm}", held, floor.observations),
        ("distinct inputs", tally.inputs, floor.inputs),
        ("examples", examples, floor.examples),
        ("situations after a change", tally.changed, floor.changed),
    ):
        if have < want:
            return f"case {case}: {have} {what}, the floor is {want}"
    return ""


def count_towards_floor(row: Requirement, case: str, tally: CaseTally) -> tuple[int, int]:
    """Return the numbers of held observations (or situations) and of examples that fill a floor: all for a probe, else the
    disturbed ones."""
    if may_fill(row, case, calm=True):
        return tally.held, tally.examples
    held = tally.situations if by_situation(row, case) else tally.held - tally.calm
    return held, tally.examples - tally.calm_examples


def count_idle(row: Requirement, case: str, tally: CaseTally) -> int:
    """Return the number of held observations that fill no floor, since nothing was disturbed in their examples."""
    return 0 if may_fill(row, case, calm=True) else tally.calm


def undecided(case: str, tally: CaseTally) -> str:
    """Return why this case decides nothing although it reached its floor; empty if it decides."""
    if tally.undecided > tally.held:
        parts = [sum_in_words(tally.excused, "excused"), sum_in_words(tally.left_out, "left out")]
        return f"case {case}: {', '.join(filter(None, parts))}, and {tally.held} held"
    return _lost_premises(f"case {case}", AttemptCount(made=tally.attempts, lost=tally.lost))


def sum_in_words(names: Mapping[str, int], what: str) -> str:
    """Return the sum of the counts and each of them, in words; empty without counts."""
    each = ", ".join(f"{name} {times}" for name, times in sorted(names.items()))
    return f"{sum(names.values())} {what} ({each})" if names else ""


def _lost_premises(of: str, count: AttemptCount) -> str:
    return f"{of}: {count.lost} of {count.made} tries lost their premise" if 2 * count.lost > count.made else ""


def is_troubled(count: AttemptCount) -> bool:
    """True if too many of the examples ended in trouble of the kit, so that the rows of their check cannot be judged."""
    return count.errors > 0 and TROUBLED_SHARE * count.errors >= count.made


TROUBLED_SHARE = 10
"""A check is in trouble if one in this many of its examples ended in trouble of the kit."""

NO_CHECK = "the kit has no check for this row"
CHANGED_SINCE = (
    f"row changed since it was run: run it again, or judge what is stored with {COMMAND} rejudge --out DIR --shards NEW"
)


def judge_cell(row: Requirement, facts: Facts, evidence: CellEvidence) -> Judgement:
    """Return the worst verdict that the evidence supports: violated > flaky > error > inconclusive > satisfied."""
    cases = [case.id for case in row.applicable_cases(facts)]
    if not cases:
        return Judgement(
            verdict="inapplicable", reason=f"the row does not apply to {facts.version} as it declares itself"
        )
    # A violation seen by a check of other rows is still a proof.
    if not evidence.checks and not any(tally.violated for tally in evidence.cases.values()):
        return Judgement(verdict="untested", reason=NO_CHECK)
    if evidence.changed:
        return Judgement(verdict="not-run", reason=CHANGED_SINCE)
    return _judge_observed(row, evidence, {case: evidence.cases.get(case, CaseTally()) for case in cases})


def _judge_observed(row: Requirement, evidence: CellEvidence, tallies: dict[str, CaseTally]) -> Judgement:
    # A violation counts under any case, even one that was narrowed since. If the case did not apply in the first place, the
    # violation was left out by name when it was observed (`conformance.core.evaluate.judge_on_column`).
    is_judged = row.level not in RECORDED
    violated = sum(tally.violated for tally in evidence.cases.values())
    if violated and is_judged:
        return Judgement(verdict="violated", reason=f"{violated} observations break the row")
    wavering = [case for case, tally in tallies.items() if tally.wavering and is_judged]
    if wavering:
        return Judgement(verdict="flaky", reason=f"identical tries were answered differently: {', '.join(wavering)}")
    if evidence.errors:
        return Judgement(verdict="error", reason=f"{evidence.errors} checks ended in trouble of the kit")
    if not evidence.ran:
        return Judgement(verdict="not-run", reason="no check of this row ran")
    if not is_judged:
        return _judge_recorded(row, tallies)
    if reasons := _why_inconclusive(row, evidence, tallies):
        return Judgement(verdict="inconclusive", reason="; ".join(reasons))
    if evidence.lost:
        return Judgement(verdict="inconclusive", reason=f"the floors are met, but {evidence.lost}")
    return Judgement(verdict="satisfied", reason="")


def _why_inconclusive(row: Requirement, evidence: CellEvidence, tallies: dict[str, CaseTally]) -> list[str]:
    """Return why a row that is not broken is not satisfied either."""
    reasons = [
        *(why_below_floor(row, case, tally) for case, tally in tallies.items()),
        *(undecided(case, tally) for case, tally in tallies.items()),
        *(_lost_premises(check, count) for check, count in sorted(evidence.attempts.items())),
    ]
    found = [reason for reason in reasons if reason]
    hindered = f"the tested system kept its checks from going on: {evidence.hindrance}"
    return [*found, hindered] if found and evidence.hindrance else found


def _judge_recorded(row: Requirement, tallies: dict[str, CaseTally]) -> Judgement:
    seen = sum(tally.observations for tally in tallies.values())
    if not seen:
        return Judgement(verdict="inconclusive", reason="nothing was observed")
    if row.level != "later":
        return Judgement(verdict="recorded", reason=f"{seen} observations, never judged")
    kept = sum(tally.kept for tally in tallies.values())
    return Judgement(
        verdict="recorded",
        reason=f"kept in {kept} of {seen} observations, never judged",
        value=KEEPS if kept == seen else KEEPS_NOT,
    )
