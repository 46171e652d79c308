"""The tables of a merge, made from the sums of `reports.pool.counts`: checks, replays, faults and coverage of each
cell."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from conformance.judging.pooling import Attempts, split_by_kind
from history.shards import AttemptCount
from reports.insights import Coverage, Excused, FaultMet, FaultReach, PremiseReach, Spent
from reports.matrix import Row
from reports.pool import counts

Sums: TypeAlias = Mapping[str, Sequence[Row]]
"""The rows of `reports.pool.counts.sum_lines`, by the names of their entries."""

CutShort: TypeAlias = tuple[str, str, str]
"""A part of a check: column, check and shard."""

UNENDED = counts.UNENDED
"""The outcome of a check whose worker was killed: its time is that of its examples."""


def by_entry(rows: Iterable[Row]) -> Sums:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: [row[name] for name in counts.KEY]):
        found[row["entry"]].append(row)
    return found


def _cell_key(row: Row) -> tuple[str, str]:
    return row["kafka_version"], row["requirement"]


# --- what a cell is judged by


def cases(decided: Iterable[Row], distinct: Iterable[Row], wavering: Iterable[Row], entries: Sums) -> list[Row]:
    """Join tables of `reports.pool.cells` and the excuses into the fields of `conformance.judging.verdicts.CaseTally`
    for each case, in a fixed order."""
    sums: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for row in decided:
        sums[*_cell_key(row), row["case"]].update(
            {name: row[name] for name in ("held", "violated", "recorded", "kept", "calm")}
        )
    waver = {(*_cell_key(row), row["case"]) for row in wavering}
    found = {(*_cell_key(row), row["case"]): row for row in distinct}
    excuses: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for row in entries.get(counts.EXCUSE, ()):
        excuses[*_cell_key(row), row["case"]][row["name"]] += row["a"]
    rows: list[Row] = []
    attempts = _attempts_by_cell(entries)
    for version, requirement, case in sorted({*found, *excuses}):
        key = version, requirement, case
        tried = attempts[version, requirement].of_case(case)
        undecided = {
            "wavering": key in waver, **split_by_kind(excuses[key])._asdict(), "attempts": tried.made, "lost": tried.lost,
        }  # fmt: skip
        own = _row_of_cell((version, requirement), case=case, **_NOTHING)
        rows.append({**own, **found.get(key, {}), **sums[key], **undecided})
    return rows


_NOTHING = dict.fromkeys(
    (
        "held",
        "violated",
        "recorded",
        "kept",
        "changed",
        "calm",
        "inputs",
        "examples",
        "situations",
        "calm_examples",
    ),
    0,
)
"""The numbers of a case without observations."""


def checks(sums: Sums, decided: Iterable[Row]) -> list[Row]:
    """Count, for each cell, the checks that ran, those that failed with an error of the kit, and their examples; add the text of
    the first error.

    A check with observations counts as run, even if its worker was killed before it ended.
    """
    ran, errors, troubles = (defaultdict[tuple[str, str], set[str]](set) for _ in range(3))
    for row in decided:
        ran[_cell_key(row)].add(row["check"])
    for row in sums.get(counts.CHECK, ()):
        ran[_cell_key(row)].update([row["check"]] if row["a"] else [])
        errors[_cell_key(row)].update([row["check"]] if row["b"] else [])
        troubles[_cell_key(row)].update([row["name"]] if row["name"] else [])
    attempts, hindrances = _attempts_by_cell(sums), _hindrances_by_cell(sums)
    return [
        _row_of_cell(
            cell, ran=len(ran[cell]), errors=len(errors[cell] | attempts[cell].troubled_checks),
            trouble=min(troubles[cell], default=None), attempts=attempts[cell],
            hindrance=min(hindrances[cell], default=""),
        )
        for cell in {**ran, **errors, **attempts}
    ]  # fmt: skip


def _attempts_by_cell(sums: Sums) -> defaultdict[tuple[str, str], Attempts]:
    found: defaultdict[tuple[str, str], Attempts] = defaultdict(Attempts)
    for row in sums.get(counts.ATTEMPT, ()):
        found[_cell_key(row)].add(
            row["check"], row["case"], AttemptCount(made=row["a"], lost=row["b"], errors=row["c"])
        )
    return found


def _hindrances_by_cell(sums: Sums) -> defaultdict[tuple[str, str], set[str]]:
    found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in sums.get(counts.HINDRANCE, ()):
        found[_cell_key(row)].add(row["name"])
    return found


def _row_of_cell(cell: tuple[str, str], **fields: Any) -> Row:
    version, requirement = cell
    return {"kafka_version": version, "requirement": requirement, **fields}


def replays(sums: Sums) -> list[Row]:
    """Count the replays of each cell's violations, and those that showed the violation again."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in sums.get(counts.REPLAY, ()):
        found[_cell_key(row)].update(seen=row["a"], tries=row["b"])
    return [_row_of_cell(cell, **count) for cell, count in found.items()]


def paths(observed: Iterable[Row], sums: Sums, most: int) -> list[Row]:
    """Return up to `most` paths of evidence for each cell, including those of replays."""
    found: dict[tuple[str, str], set[tuple[int, str]]] = defaultdict(set)
    for row in observed:
        found[_cell_key(row)].update((path["rank"], path["path"]) for path in row["paths"])
    for row in sums.get(counts.REPLAY, ()):
        found[_cell_key(row)].update([(0, row["name"])] if row["name"] else [])
    return [
        _row_of_cell(cell, path=path, place=place)
        for cell, named in found.items()
        for place, (_, path) in enumerate(sorted(named)[:most])
    ]


def faults(sums: Sums) -> list[Row]:
    """Count the faults in the examples of each cell: injected, witnessed, healed."""
    return [_row_of_cell(_cell_key(row), fault=row["name"], **_fault_counts(row)) for row in sums.get(counts.FAULT, ())]


def _fault_counts(row: Row) -> dict[str, int]:
    return dict(zip(("injected", "witnessed", "healed"), (row["a"], row["b"], row["c"]), strict=True))


# --- what was reached


def coverage(applicable: Iterable[tuple[str, str, str]], cases: Iterable[Row], sums: Sums) -> list[Coverage]:
    """Return the coverage of each cell with an applicable case; `applicable` names column, row and case."""
    seen = {(*_cell_key(row), row["case"]) for row in cases if row["examples"]}
    reached: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for version, requirement, case in applicable:
        reached[version, requirement].append((version, requirement, case) in seen)
    outcomes: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row in sums.get(counts.OUTCOME, ()):
        outcomes[_cell_key(row)][row["name"]] = row["times"]
    brought: dict[tuple[str, str], dict[str, FaultReach]] = defaultdict(dict)
    for row in sums.get(counts.FAULT, ()):
        brought[_cell_key(row)][row["name"]] = FaultReach(**_fault_counts(row))
    return [
        Coverage(
            requirement=cell[1], kafka_version=cell[0], examples=sum(outcomes[cell].values()), outcomes=outcomes[cell],
            cases_reached=sum(hits), cases=len(hits), faults=brought[cell],
        )
        for cell, hits in reached.items()
    ]  # fmt: skip


def faults_met(sums: Sums) -> list[FaultMet]:
    return [
        FaultMet(kafka_version=row["kafka_version"], fault=row["name"], examples=row["times"], **_fault_counts(row))
        for row in sums.get(counts.MET, ())
    ]


def premises(sums: Sums) -> list[PremiseReach]:
    return [
        PremiseReach(
            kafka_version=row["kafka_version"], check=row["check"], premise=row["name"], met=row["a"], unmet=row["b"]
        )
        for row in sums.get(counts.PREMISE, ())
    ]


def excused_cases(sums: Sums, decided: Iterable[Row]) -> list[Excused]:
    """Return each row, check and case of a column that was sometimes left undecided."""
    named: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    for row in sums.get(counts.EXCUSE, ()):
        named[*_cell_key(row), row["check"], row["case"]][row["name"]] = row["a"]
    known = {(*_cell_key(row), row["check"], row["case"]): row for row in decided}
    return [
        Excused(
            requirement=row, kafka_version=version, check=check, case=case, excused=left,
            **{result: known.get((version, row, check, case), {}).get(result, 0) for result in ("held", "violated")},
        )
        for (version, row, check, case), left in named.items()
    ]  # fmt: skip


def spent_by_check(sums: Sums) -> list[Spent]:
    """Return the time that each check took on each column."""
    ended = {_cut_short_key(row) for row in sums.get(counts.ENDED, ())}
    unended = [
        {**row, "name": UNENDED, "times": 1} for row in sums.get(counts.UNENDED, ()) if _cut_short_key(row) not in ended
    ]
    totals: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    outcomes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in [*sums.get(counts.ENDED, ()), *unended]:
        key = row["kafka_version"], row["check"]
        totals[key].update(examples=row["a"], milliseconds=row["b"])
        outcomes[key][row["name"]] += row["times"]
    return [
        Spent(
            kafka_version=version, check=check, examples=total["examples"], seconds=total["milliseconds"] / 1000,
            outcomes=dict(outcomes[version, check]),
        )
        for (version, check), total in totals.items()
    ]  # fmt: skip


def _cut_short_key(row: Row) -> CutShort:
    return row["kafka_version"], row["check"], row["case"]
