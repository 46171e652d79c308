"""The rarest cases of a run so far, and the checks that observe them, on which the remaining time is spent."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from conformance.catalogue import Facts, shipped_rows
from conformance.catalogue.floors import by_situation, floor_of, may_fill
from conformance.catalogue.rows import RECORDED
from conformance.core.registry import AnyCheck
from conformance.running.violations import Breach
from history.shards import Column, ExampleLine, ObservationLine, Shard

RowCase = tuple[str, str]
"""A row and one of its cases."""


class RareCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case, the share of its floor that was observed, and the check that observes it most often."""

    requirement: str
    case: str
    share: float
    check: str


class ColumnObservations(msgspec.Struct, frozen=True, kw_only=True):
    """The observations of one column in a run, over all workers.

    `seconds` is the time of examples by check. `breaches` has each violated row and case with the evidence of its first
    observation.
    """

    column: Column
    observed: Mapping[str, Counter[RowCase]]
    seconds: Mapping[str, float]
    breaches: dict[Breach, str] = {}

    def count(self, row: str, case: str) -> int:
        return sum(cases[row, case] for cases in self.observed.values())

    def rate(self, check: str, row: str, case: str) -> float:
        """Return how often a check observed the case, per second of its examples."""
        found = self.observed.get(check)
        return found[row, case] / max(1.0, self.seconds[check]) if found else 0.0


def add_up_shards(shards: Iterable[Shard], label: str) -> ColumnObservations | None:
    """Add up the shards of a run for a column; None if none has its header yet."""
    column: Column | None = None
    observed: dict[str, Counter[RowCase]] = defaultdict(Counter)
    seconds: defaultdict[str, float] = defaultdict(float)
    breaches: dict[Breach, str] = {}
    counted: set[tuple[str, ...]] = set()
    for shard in shards:
        if shard.header is None or shard.header.column.label != label:
            continue
        column = column if column is not None and column.ranges else shard.header.column
        for line in shard.lines:
            if isinstance(line, ObservationLine):
                observed[line.check][line.requirement, line.case] += _fills_more(line, counted)
                if line.result == "violated" and line.evidence:
                    breaches.setdefault(Breach(line.requirement, line.label, line.case), line.evidence)
            elif isinstance(line, ExampleLine):
                seconds[line.check] += line.seconds
    if column is None:
        return None
    return ColumnObservations(column=column, observed=observed, seconds=seconds, breaches=breaches)


def _fills_more(line: ObservationLine, counted: set[tuple[str, ...]]) -> bool:
    """True if an observation brings its row closer to a floor. A property counts each situation once; `counted` has the
    situations so far."""
    row = shipped_rows()[line.requirement]
    situation = (line.shard, line.example, row.id, line.case, line.situation)
    is_new = situation not in counted or not by_situation(row, line.case)
    counted.add(situation)
    return is_new and may_fill(row, line.case, calm=line.calm)


def rank_cases(found: ColumnObservations, checks: Sequence[AnyCheck], tried: Mapping[str, int]) -> list[RareCase]:
    """Return the rarest cases first, each check at most once. Checks that were `tried` less often come first."""
    rare = [
        RareCase(
            requirement=row,
            case=case,
            share=found.count(row, case) / floor,
            # The check that observes the case most often per second, or else the one tried least.
            check=max(able, key=lambda id: (found.rate(id, row, case), -tried.get(id, 0))),
        )
        for row, case, floor, able in _cases_of_column(found.column, checks)
    ]
    rare.sort(key=lambda one: (tried.get(one.check, 0), one.share))
    first: dict[str, RareCase] = {}
    for one in rare:
        first.setdefault(one.check, one)
    return list(first.values())


def _cases_of_column(column: Column, checks: Sequence[AnyCheck]) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield row, case, floor and checks of each case that is judged on this column."""
    facts = Facts(version=column.version, ranges=column.ranges)
    able: dict[str, list[str]] = defaultdict(list)
    for check in checks:
        for row in check.rows:
            able[row].append(check.id)
    for row, ids in sorted(able.items()):
        if shipped_rows()[row].level not in RECORDED:
            for case in shipped_rows()[row].applicable_cases(facts):
                yield row, case.id, floor_of(shipped_rows()[row], case.id).observations, ids
