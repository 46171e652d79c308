"""The verdict of a cell, judged once over the pooled observations of all its checks.

The same function serves pytest's controller and the Spark report.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from conformance.catalogue import Facts, Requirement
from conformance.catalogue.floors import floor_of, kind_of
from conformance.catalogue.rows import RECORDED
from history.command import COMMAND
from history.observations import KEEPS, KEEPS_NOT

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
    """Pooled observations of one case. `inputs` and `examples` count distinct ones, `changed` the held observations that lived
    through a change; `calm` are the held observations, and `calm_examples` the examples with no others, that fill no floor of a
    property.

    `kept` counts recorded observations that keep the promise of a later KIP. `wavering`: identical tries of a probe gave
    different legal answers.
    """

    held: int = 0
    violated: int = 0
    recorded: int = 0
    kept: int = 0
    changed: int = 0
    inputs: int = 0
    examples: int = 0
    calm: int = 0
    calm_examples: int = 0
    wavering: bool = False

    @property
    def observations(self) -> int:
        return self.held + self.violated + self.recorded


class CellEvidence(msgspec.Struct, kw_only=True):
    """All that is known about one row on one column.

    `checks` is how many checks the kit has for the row, `ran` how many ran, `errors` how many ended in trouble of
    the kit. `changed`: the row was changed since, so that its observations no longer count. `lost` is what
    is known to be missing from the column's shards: it may have been a violation, so nothing is satisfied.
    """

    cases: dict[str, CaseTally] = {}
    checks: int = 0
    ran: int = 0
    errors: int = 0
    changed: bool = False
    lost: str = ""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One row on one column. `cases` has the applicable cases, observed or not, and any other case that was observed.

    `value` is for a row of level `later`: whether the promise is kept.
    """

    requirement: str
    kafka_version: str
    verdict: Verdict
    reason: str
    value: str = ""
    observations: int
    violations: int
    cases: dict[str, CaseTally]


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    reason: str
    value: str = ""


def below_floor(row: Requirement, case: str, tally: CaseTally) -> str:
    """Return the reason why this case does not carry `satisfied`; empty if it does."""
    floor = floor_of(row, case)
    held, examples = counting(row, case, tally)
    calm = f" ({tally.calm} calm ones do not count)" if held < tally.held else ""
    for what, have, want in (
        (f"observations{calm}", held, floor.observations),
        ("distinct inputs", tally.inputs, floor.inputs),
        ("examples", examples, floor.examples),
        ("observations that lived through a change", tally.changed, floor.changed),
    ):
        if have < want:
            return f"case {case}: {have} {what}, the floor is {want}"
    return ""


def counting(row: Requirement, case: str, tally: CaseTally) -> tuple[int, int]:
    """Return the held observations and the examples that fill a floor: for a probe all, else the disturbed ones."""
    if kind_of(row, case) == "probe":
        return tally.held, tally.examples
    return tally.held - tally.calm, tally.examples - tally.calm_examples


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
    # A violation that a check of other rows came across is still a proof.
    if not evidence.checks and not any(tally.violated for tally in evidence.cases.values()):
        return Judgement(verdict="untested", reason=NO_CHECK)
    if evidence.changed:
        return Judgement(verdict="not-run", reason=CHANGED_SINCE)
    return _judge_observed(row, evidence, {case: evidence.cases.get(case, CaseTally()) for case in cases})


def _judge_observed(row: Requirement, evidence: CellEvidence, tallies: dict[str, CaseTally]) -> Judgement:
    # A violation counts under any case: a proof is never lost to a narrowed case.
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
    short = [text for case, tally in tallies.items() if (text := below_floor(row, case, tally))]
    if short:
        return Judgement(verdict="inconclusive", reason="; ".join(short))
    if evidence.lost:
        return Judgement(verdict="inconclusive", reason=f"the floors are met, but {evidence.lost}")
    return Judgement(verdict="satisfied", reason="")


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
