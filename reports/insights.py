"""Answers beyond the verdicts: since when, how often, how long, what changed.

Each is a row of a table that `reports.tables` or `reports.over_versions` makes; none of them grows with the number of
observations, so the site, the terminal and Markdown can show them all. Columns are named by their labels, runs by their
ids, run dates as `2026-11-21` (UTC).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from conformance.judging.verdicts import Verdict

RELEASE = r"^[0-9]+(\.[0-9]+)+(-rc[0-9]+|-SNAPSHOT(@(?!.*\+[a-z.]+=).*)?)?$"
"""The pattern of labels of released versions, release candidates and builds of trunk, which can be ordered.

Labels of users' other images, and of columns with features, have further parts and do not match.
"""


def is_release(label: str) -> bool:
    return re.search(RELEASE, label) is not None


ChangeKind = Literal["added", "removed", "changed", "unchanged"]


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True):
    """One row in two columns, or in two runs of a column: `before` and `after` are verdicts, empty without a cell.

    `worse` is true if the row is broken, was not, and had been judged before.
    """

    requirement: str
    kind: ChangeKind
    before: Verdict | Literal[""]
    after: Verdict | Literal[""]
    worse: bool = False


class Firsts(msgspec.Struct, frozen=True, kw_only=True):
    """The columns in which a row breaks and is mended, among those with a place in the order of versions
    (`reports.order`).

    `bad` are the versions that violate it, `good` those that satisfy it; other verdicts decide nothing. `first_bad` is
    the oldest bad one and `last_good` the newest good one before it ("" if none: bad since the oldest column that
    decides); `first_good` is the first good one after the newest bad one ("" if it is still bad).

    `unrun_before` are the columns between `last_good` (or the oldest) and `first_bad` that did not run the row,
    `unrun_after` those between the newest bad one and `first_good` (or the newest). `ages` are those of the named columns
    that were carried over from an earlier night.
    """

    requirement: str
    bad: list[str]
    good: list[str]
    first_bad: str
    last_good: str
    first_good: str
    unrun_before: list[str] = []
    unrun_after: list[str] = []
    ages: dict[str, str] = {}


class Wavering(msgspec.Struct, frozen=True, kw_only=True):
    """Identical tries of a check on one column that got different answers, or broke a row only sometimes."""

    requirement: str
    kafka_version: str
    check: str
    case: str
    inputs: str
    tries: int
    violated: int
    answers: dict[str, int]


class FaultReach(msgspec.Struct, frozen=True, kw_only=True):
    injected: int
    witnessed: int
    healed: int


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """A cell's coverage: its examples by outcome, the applicable cases and those seen, and the faults."""

    requirement: str
    kafka_version: str
    examples: int
    outcomes: dict[str, int] = {}
    cases_reached: int
    cases: int
    faults: dict[str, FaultReach]


class FaultMet(msgspec.Struct, frozen=True, kw_only=True):
    """A fault on a column, each example counted once, though it contributes to the cells of many rows."""

    kafka_version: str
    fault: str
    examples: int
    injected: int
    witnessed: int
    healed: int


class PremiseReach(msgspec.Struct, frozen=True, kw_only=True):
    """A premise of a check on a column, and how often it was met; a premise that was never met is a hole."""

    kafka_version: str
    check: str
    premise: str
    met: int
    unmet: int


class Excused(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a check on a case that judges did not always decide; `excused` counts the undecided ones by excuse."""

    requirement: str
    kafka_version: str
    check: str
    case: str
    held: int
    violated: int
    excused: dict[str, int]


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """A check's time on a column, over all workers; `outcomes` counts how often it ended with each outcome."""

    kafka_version: str
    check: str
    examples: int
    seconds: float
    outcomes: dict[str, int]


class TrendPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A cell as judged from one archived run."""

    requirement: str
    kafka_version: str
    run_date: str
    run: str
    verdict: Verdict
    observations: int
    violations: int


class Insights(msgspec.Struct, kw_only=True):
    """All tables of insights, each in a fixed order. `trend` is empty without an archive."""

    firsts: list[Firsts] = []
    wavering: list[Wavering] = []
    coverage: list[Coverage] = []
    faults_met: list[FaultMet] = []
    premises: list[PremiseReach] = []
    excused: list[Excused] = []
    spent: list[Spent] = []
    trend: list[TrendPoint] = []


TABLES: dict[str, type[msgspec.Struct]] = {
    table.name: get_args(table.type)[0] for table in msgspec.structs.fields(Insights)
}
"""The struct of a row, by the name of its table."""


def assemble_insights(found: Mapping[str, Sequence[Mapping[str, Any]]], columns: Sequence[str]) -> Insights:
    """Build the insights from the rows of each table, and sort them by `columns`, then by `_ORDER`."""
    places = {label: place for place, label in enumerate(columns)}

    def order(row: msgspec.Struct) -> tuple[Any, ...]:
        texts = [getattr(row, name) for name in _ORDER if name in row.__struct_fields__]
        return (places.get(getattr(row, "kafka_version", ""), len(places)), *texts)

    tables = {
        name: sorted(msgspec.convert(found.get(name, []), list[struct]), key=order)  # type: ignore[valid-type]
        for name, struct in TABLES.items()
    }
    return Insights(**tables)


def encode_insights(insights: Insights) -> bytes:
    """Return the content of `insights.json`: the same insights give the same bytes."""
    return msgspec.json.format(msgspec.json.encode(insights, order="deterministic"), indent=1) + b"\n"


_ORDER = ("requirement", "run_date", "run", "check", "case", "inputs", "premise", "fault")
"""The fields by which a column's rows are sorted, if a table has them."""
