"""Overviews over all columns: faults and cases reached by row group, premises and time by check."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from history.shards import FaultCount
from reports.insights import FaultMet, PremiseReach, Spent
from reports.site.views import FamilyView


class FaultSum(msgspec.Struct, frozen=True, kw_only=True):
    """A fault in a group of rows on a column.

    An example counts for each of its rows, so the counts of rows cannot be added up: these counts are those of the row that met
    the fault most often.
    """

    rows: int
    injected: int
    witnessed: int
    healed: int


class FaultView(msgspec.Struct, frozen=True, kw_only=True):
    """A fault: its counts over all examples by column, and its sums by group of rows; None if the fault was not met."""

    name: str
    met: list[FaultMet | None]
    groups: dict[str, list[FaultSum | None]]


class CasesReached(msgspec.Struct, frozen=True, kw_only=True):
    reached: int
    cases: int


class PremiseView(msgspec.Struct, frozen=True, kw_only=True):
    """A premise of a check, and how often it was met on each column."""

    check: str
    premise: str
    met: int
    cells: list[PremiseReach | None]


class SpentView(msgspec.Struct, frozen=True, kw_only=True):
    """A check with the time it took on each column; `seconds` over all of them."""

    check: str
    seconds: float
    cells: list[Spent | None]


def faults(groups: Sequence[FamilyView], found: Iterable[FaultMet], labels: Sequence[str]) -> list[FaultView]:
    """Return every fault that an example met, over all rows and by family."""
    met = {(each.fault, each.kafka_version): each for each in found}
    names = {name for group in groups for view in group.rows for name in view.faults} | {name for name, _ in met}
    return [
        FaultView(
            name=name,
            met=[met.get((name, label)) for label in labels],
            groups={
                group.family: [_fault_sum(group, place, name) for place in range(len(labels))]
                for group in groups
                if any(name in view.faults for view in group.rows)
            },
        )
        for name in sorted(names)
    ]


def _fault_sum(group: FamilyView, place: int, name: str) -> FaultSum | None:
    met: list[FaultCount] = [view.cells[place].faults[name] for view in group.rows if name in view.cells[place].faults]
    if not met:
        return None
    most = max(met, key=lambda count: (count.injected, count.witnessed, count.healed))
    return FaultSum(rows=len(met), injected=most.injected, witnessed=most.witnessed, healed=most.healed)


def coverage(groups: Sequence[FamilyView], labels: Sequence[str]) -> dict[str, list[CasesReached]]:
    """Count the reached cases by family and column; empty if no run recorded any."""
    if not any(view.coverage for group in groups for view in group.rows):
        return {}
    return {group.family: [_cases_reached(group, label) for label in labels] for group in groups}


def _cases_reached(group: FamilyView, label: str) -> CasesReached:
    found = [view.coverage[label] for view in group.rows if label in view.coverage]
    return CasesReached(reached=sum(each.cases_reached for each in found), cases=sum(each.cases for each in found))


def premises(found: Iterable[PremiseReach], labels: Sequence[str]) -> dict[str, list[PremiseView]]:
    """Group premises by the package of their check, those never met first."""
    by_premise: dict[tuple[str, str], dict[str, PremiseReach]] = defaultdict(dict)
    for each in found:
        by_premise[each.check, each.premise][each.kafka_version] = each
    parts: dict[str, list[PremiseView]] = defaultdict(list)
    for (check, premise), cells in sorted(by_premise.items()):
        met = sum(each.met for each in cells.values())
        view = PremiseView(check=check, premise=premise, met=met, cells=[cells.get(label) for label in labels])
        parts[check.split(".")[0]].append(view)
    return {part: sorted(views, key=lambda view: view.met > 0) for part, views in parts.items()}


def never_met(parts: dict[str, list[PremiseView]]) -> list[PremiseView]:
    """Return the premises that were tried and never met."""
    return [view for views in parts.values() for view in views if not view.met]


def spent_views(found: Iterable[Spent], labels: Sequence[str]) -> list[SpentView]:
    """Return the checks with the time they took, the longest first."""
    by_check: dict[str, dict[str, Spent]] = defaultdict(dict)
    for each in found:
        by_check[each.check][each.kafka_version] = each
    views = [
        SpentView(
            check=check,
            seconds=sum(each.seconds for each in cells.values()),
            cells=[cells.get(label) for label in labels],
        )
        for check, cells in by_check.items()
    ]
    return sorted(views, key=lambda view: (-view.seconds, view.check))
