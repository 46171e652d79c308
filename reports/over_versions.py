"""The versions since which a row is broken or mended, and the changes between neighbours: columns, or runs of a column.

A matrix has few cells, so this is plain Python, not a Spark job.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from conformance.judging.verdicts import Verdict
from reports.differences import compare_verdicts
from reports.insights import Firsts, TrendPoint, VerdictChange
from reports.matrix import ReportedCell

Sides = Mapping[str, Mapping[str, Verdict]]
"""The verdict of each row on each side: a column by its label, or a run by `4.3.1 in run 261121-…`."""


_UNRUN = ("", "not-run", "error")
"""The verdicts of a row on a column that did not run it, or not to its end."""


class NeighbourChange(VerdictChange, frozen=True, kw_only=True):
    """A row on two neighbouring sides."""

    old: str
    new: str


def by_column(cells: Iterable[ReportedCell]) -> dict[str, dict[str, Verdict]]:
    found: dict[str, dict[str, Verdict]] = defaultdict(dict)
    for cell in cells:
        found[cell.kafka_version][cell.requirement] = cell.verdict
    return found


def row_firsts(sides: Sides, order: Sequence[str], ages: Mapping[str, str] | None = None) -> list[Firsts]:
    """Return the `Firsts` of each row that some column breaks or satisfies; `order` has the oldest column first.

    A column of `order` without a side was not run; `ages` are those of columns that were carried over.
    """
    rows = dict.fromkeys(row for label in order for row in sides.get(label, {}))
    found = (
        _firsts_of_row(row, [(label, sides.get(label, {}).get(row, "")) for label in order], ages or {}) for row in rows
    )
    return [one for one in found if one.bad or one.good]


def _firsts_of_row(row: str, verdicts: Sequence[tuple[str, str]], ages: Mapping[str, str]) -> Firsts:
    bad, good = ([place for place, (_, seen) in enumerate(verdicts) if seen == v] for v in ("violated", "satisfied"))
    before = [place for place in good if bad and place < bad[0]][-1:]
    after = [place for place in good if bad and place > bad[-1]][:1]

    def names(places: Iterable[int]) -> list[str]:
        return [verdicts[place][0] for place in places]

    def unrun(begin: int, end: int) -> list[str]:
        return [label for label, seen in verdicts[begin:end] if seen in _UNRUN]

    return Firsts(
        requirement=row,
        bad=names(bad),
        good=names(good),
        first_bad="".join(names(bad[:1])),
        last_good="".join(names(before)),
        first_good="".join(names(after)),
        unrun_before=unrun(before[0] if before else 0, bad[0]) if bad else [],
        unrun_after=unrun(bad[-1], after[0] if after else len(verdicts)) if bad else [],
        ages={label: ages[label] for label in names([*bad[:1], *before, *after]) if label in ages},
    )


def neighbour_changes(sides: Sides, pairs: Iterable[tuple[str, str]]) -> Iterator[NeighbourChange]:
    """Yield the change of each row between the old and the new side of each pair."""
    for old, new in pairs:
        for change in compare_verdicts(sides.get(old, {}), sides.get(new, {})):
            yield NeighbourChange(old=old, new=new, **msgspec.structs.asdict(change))


def neighbour_pairs(order: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each column with the one before it."""
    return list(pairwise(order))


def run_sides(trend: Iterable[TrendPoint]) -> tuple[Sides, list[tuple[str, str]]]:
    """Return the sides of archived runs, and each run of a column paired with the run before it."""
    sides: dict[str, dict[str, Verdict]] = defaultdict(dict)
    ran: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for point in trend:
        side = f"{point.kafka_version} in run {point.run}"
        sides[side][point.requirement] = point.verdict
        ran[point.kafka_version].add((point.run_date, point.run, side))
    return sides, [(old, new) for seen in ran.values() for (_, _, old), (_, _, new) in pairwise(sorted(seen))]
