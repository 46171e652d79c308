"""The matrix: a judged cell for each row and column, made from pooled evidence in plain Python, and encoded as `matrix.json`."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import msgspec

from conformance.catalogue import Catalogue, Requirement
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.rows import family_of
from conformance.judging import patch_releases
from conformance.judging.intake import ColumnFacts, Intake, Quarantine
from conformance.judging.news import MATRIX_SCHEMA
from conformance.judging.patch_releases import LOWEST, PatchComparison
from conformance.judging.pooling import Attempts, RowChecks, cell_of
from conformance.judging.verdicts import CaseTally, Cell, Verdict
from history.shards import FaultCount, Header
from reports.rule_changes import RuleChange, rule_changes

WAYS = 500
"""The maximum number of ways of breaking a cell that are compared with known deviations; a cell with more counts as unknown."""

Row = Mapping[str, Any]
"""One row of a small table, as a plain mapping."""


class Pooled(msgspec.Struct, kw_only=True):
    """The small tables by which cells are judged, collected from Spark."""

    cases: Sequence[Row] = ()
    ways: Sequence[Row] = ()
    violations: Sequence[Row] = ()
    paths: Sequence[Row] = ()
    replays: Sequence[Row] = ()
    checks: Sequence[Row] = ()
    faults: Sequence[Row] = ()


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A violation in words, the number of `times` it was seen, and the first example that shows it.

    `history` and `evidence` are relative to the run's output directory.
    """

    case: str
    label: str
    detail: str
    check: str
    example: str
    history: str
    events: list[int]
    evidence: str
    times: int


class ReplayCount(msgspec.Struct, frozen=True, kw_only=True):
    """The replays of violations: `seen` of `tries` showed the violation again."""

    seen: int = 0
    tries: int = 0


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the row's checks: known, run, and failed with an error of the kit; `trouble` is the first
    error."""

    known: int = 0
    ran: int = 0
    errors: int = 0
    trouble: str = ""


class ReportedCell(Cell, frozen=True, kw_only=True):
    """A cell, with everything that reports show besides its verdict. `known` are its known deviations."""

    faults: dict[str, FaultCount]
    evidence: list[str]
    checks: Checks
    replays: ReplayCount
    shown: list[Violation]
    known: list[Deviation]


class RowFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A row for readers without the catalogue; `checks` are those that any column's shards name. `provisional` says in words how
    far a row is whose news is never red yet."""

    requirement: str
    title: str
    kip: int
    section: str
    level: str
    priority: str
    kind: str
    checks: list[str]
    hash: str = ""
    provisional: str = ""

    @property
    def family(self) -> str:
        return family_of(self.kip)

    @property
    def source(self) -> str:
        """The document and its section; for a general law only the section, which names the laws."""
        return f"{self.family}, {self.section}" if self.kip else self.section


class RunOrigin(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """The origin of a run as the headers of its shards tell it; see `history.shards.Header`."""

    run: str
    began: str
    host: str
    commit: str
    job: str
    attempt: int
    image_digest: str

    @property
    def link(self) -> str:
        """The job's address, unless it is none that a page may link to."""
        return self.job if self.job.startswith(("https://", "http://")) else ""


class ColumnReport(msgspec.Struct, kw_only=True):
    """The facts of a column, and its known gaps.

    One that was not run, for the reason `not_run`, is that of an earlier night, `from_run`, `age_nights` nights ago.
    """

    kafka_version: str
    version: str
    image: str
    image_id: str
    features: dict[str, int]
    differing: dict[str, list[int]]
    shards: int
    runs: list[str]
    kits: list[str]
    profiles: list[str]
    topologies: list[str]
    seeds: list[int]
    incomplete: list[str]
    verdicts: dict[Verdict, int]
    build: str = ""
    digest: str = ""
    selection: list[str] = []
    ended_early: list[str] = []
    origins: list[RunOrigin] = []
    from_run: str = ""
    age_nights: int = 0
    not_run: str = ""

    @property
    def age(self) -> str:
        """The age of a column that was not run, in words; empty for one that was."""
        return f"{self.age_nights} night{'s' if self.age_nights != 1 else ''} old" if self.from_run else ""


class StaleDeviation(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the known deviations that no longer holds: every check of the row ran, and the cell is satisfied."""

    requirement: str
    kafka_version: str
    ticket: str
    reason: str


class DueDeviation(msgspec.Struct, frozen=True, kw_only=True):
    """A known deviation whose review date had passed when the last run began."""

    requirement: str
    cases: list[str]
    ticket: str
    look_again: date


class Matrix(msgspec.Struct, kw_only=True):
    schema: int
    kafka_versions: list[str]
    cells: list[ReportedCell]
    columns: list[ColumnReport]
    requirements: list[RowFacts]
    quarantine: Quarantine
    unknown_rows: dict[str, int]
    stale_deviations: list[StaleDeviation]
    due_deviations: list[DueDeviation] = []
    rule_changes: list[RuleChange] = []


def build_matrix(catalogue: Catalogue, intake: Intake, pooled: Pooled, deviations: Sequence[Deviation]) -> Matrix:
    """Build the matrix, with exactly one cell for each row of the catalogue and column."""
    evidence = _Evidence(pooled)
    cells = [_reported_cell(row, column, evidence, deviations) for column in intake.columns for row in catalogue]
    stale = [entry for cell in cells for entry in _stale_deviations(cell, intake, deviations)]
    return Matrix(
        schema=MATRIX_SCHEMA,
        kafka_versions=[column.kafka_version for column in intake.columns],
        cells=cells,
        columns=[_column_report(column, intake, cells) for column in intake.columns],
        requirements=[_row_facts(row, intake) for row in catalogue],
        quarantine=intake.quarantine,
        unknown_rows=_count_unknown_rows(pooled, catalogue),
        stale_deviations=stale,
        due_deviations=[*_due_deviations(intake, deviations)],
        rule_changes=rule_changes(catalogue, cells, [column.kafka_version for column in intake.columns]),
    )


def mark_provisional(matrix: Matrix, young: Mapping[str, str]) -> Matrix:
    """Mark rows whose news is never red yet; `young` says of each how far it is."""
    rows = [msgspec.structs.replace(row, provisional=young.get(row.requirement, "")) for row in matrix.requirements]
    return msgspec.structs.replace(matrix, requirements=rows)


def encode_matrix(matrix: Matrix) -> bytes:
    """Return the content of `matrix.json`: the same matrix gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(matrix, order="deterministic"), indent=1) + b"\n"


class _Evidence:
    """The pooled tables, by cell."""

    def __init__(self, pooled: Pooled) -> None:
        self.cases = _group_by_cell(pooled.cases)
        self.ways = _group_by_cell(pooled.ways)
        self.violations = _group_by_cell(pooled.violations)
        self.paths = _group_by_cell(pooled.paths)
        self.replays = _group_by_cell(pooled.replays)
        self.checks = _group_by_cell(pooled.checks)
        self.faults = _group_by_cell(pooled.faults)


def _group_by_cell(table: Iterable[Row]) -> defaultdict[tuple[str, str], list[Row]]:
    groups: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in table:
        groups[row["kafka_version"], row["requirement"]].append(row)
    return groups


def _reported_cell(
    row: Requirement, column: ColumnFacts, evidence: _Evidence, deviations: Sequence[Deviation]
) -> ReportedCell:
    key = (column.kafka_version, row.id)
    cases = {
        str(counts["case"]): msgspec.convert(_fields_of(counts, CaseTally), CaseTally) for counts in evidence.cases[key]
    }
    found = evidence.checks[key]
    checks = _count_checks(row, column, found)
    replays = evidence.replays[key]
    attempts, hindrance = (found[0]["attempts"], found[0]["hindrance"]) if found else (Attempts(), "")
    pooled = RowChecks(ran=checks.ran, errors=checks.errors, attempts=attempts, hindrance=hindrance)
    cell = cell_of(row, column, cases, pooled)
    return ReportedCell(
        **msgspec.structs.asdict(cell),
        faults=_count_faults(evidence.faults[key]),
        evidence=[found["path"] for found in _sort_by_place(evidence.paths[key])],
        checks=checks,
        replays=ReplayCount(seen=replays[0]["seen"], tries=replays[0]["tries"]) if replays else ReplayCount(),
        shown=[
            *(
                msgspec.convert(_fields_of(found, Violation), Violation)
                for found in _sort_by_place(evidence.violations[key])
            ),
            *(_violation_of_comparison(one) for one in column.patches if row.id == patch_releases.ROW and not one.held),
        ],
        known=_deviations_of(cell, column, evidence.ways[key], deviations),
    )


def _violation_of_comparison(found: PatchComparison) -> Violation:
    """Return a failed comparison of patch releases as a violation, which columns show, and not an example."""
    return Violation(
        case=found.case, label="", detail=found.detail, check=patch_releases.CHECK, example="", history="", events=[],
        evidence="", times=1,
    )  # fmt: skip


def _count_checks(row: Requirement, column: ColumnFacts, found: Sequence[Row]) -> Checks:
    known = len(column.checks.get(row.id, ()))
    if not found:
        return Checks(known=known)
    return Checks(known=known, ran=found[0]["ran"], errors=found[0]["errors"], trouble=found[0]["trouble"] or "")


def _count_faults(found: Sequence[Row]) -> dict[str, FaultCount]:
    return {
        row["fault"]: msgspec.convert(_fields_of(row, FaultCount), FaultCount)
        for row in sorted(found, key=lambda row: str(row["fault"]))
    }


def _fields_of(row: Row, kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {name: row[name] for name in kind.__struct_fields__ if name in row}


def _sort_by_place(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: int(row["place"]))


def _deviations_of(
    cell: Cell, column: ColumnFacts, ways: Sequence[Row], deviations: Sequence[Deviation]
) -> list[Deviation]:
    """Return the known deviations that together explain every way in which the cell is broken; none if one way is new."""
    about = [entry for entry in deviations if entry.covers(cell.requirement, column.version)]
    if cell.verdict == "flaky":
        wavering = {case for case, tally in cell.cases.items() if tally.wavering}
        return [entry for entry in about if wavering & set(entry.cases)]
    if cell.verdict != "violated" or not ways or len(ways) > WAYS:
        return []
    known = [[one for one in about if one.explains(way["case"], way["detail"], way["deeds"])] for way in ways]
    return [entry for entry in about if any(entry in each for each in known)] if all(known) else []


def _due_deviations(intake: Intake, deviations: Sequence[Deviation]) -> Iterator[DueDeviation]:
    days = (header.day for column in intake.columns for header in column.headers)
    last = max((day for day in days if day is not None), default=date.min)
    for entry in deviations:
        if (again := entry.look_again) is not None and last >= again:
            yield DueDeviation(
                requirement=entry.requirement, cases=[*entry.cases], ticket=entry.ticket, look_again=again
            )


def _stale_deviations(cell: ReportedCell, intake: Intake, deviations: Sequence[Deviation]) -> list[StaleDeviation]:
    """Return the known deviations of a cell that is nevertheless satisfied.

    A race, or an entry whose schedule may not have been drawn, has a review date instead.
    """
    if cell.verdict != "satisfied" or cell.checks.ran < cell.checks.known:
        return []
    version = next(column.version for column in intake.columns if column.kafka_version == cell.kafka_version)
    return [
        StaleDeviation(
            requirement=cell.requirement, kafka_version=cell.kafka_version, ticket=entry.ticket, reason=entry.reason
        )
        for entry in deviations
        if not entry.may_be_missed and entry.covers(cell.requirement, version)
    ]


def _row_facts(row: Requirement, intake: Intake) -> RowFacts:
    checks = {check for column in intake.columns for check in column.checks.get(row.id, ())}
    return RowFacts(
        requirement=row.id, title=row.title, kip=row.kip, section=row.section, level=row.level, priority=row.priority,
        kind=row.kind, checks=sorted(checks), hash=row.hash,
    )  # fmt: skip


def _column_report(column: ColumnFacts, intake: Intake, cells: Sequence[ReportedCell]) -> ColumnReport:
    headers = column.headers
    counts = Counter(cell.verdict for cell in cells if cell.kafka_version == column.kafka_version)
    return ColumnReport(
        kafka_version=column.kafka_version,
        version=column.version,
        image=column.image,
        image_id=column.image_id,
        features={name: level for name, level in column.ranges.items() if _is_feature(name)},
        differing=column.differing,
        shards=len(headers),
        runs=sorted({header.run for header in headers}),
        kits=sorted({header.kit for header in headers}),
        profiles=sorted({header.profile for header in headers}),
        topologies=sorted({header.topology for header in headers}),
        seeds=sorted({header.seed for header in headers}),
        incomplete=column.incomplete,
        verdicts=dict(counts),
        build=column.build,
        digest=column.digest,
        selection=column.selection,
        ended_early=column.ended_early,
        origins=sorted({_origin_of(header) for header in headers if header.began}),
    )


def _origin_of(header: Header) -> RunOrigin:
    return RunOrigin(**{name: getattr(header, name) for name in RunOrigin.__struct_fields__})


def _is_feature(name: str) -> bool:
    return "." in name and not name.startswith(("supported.", "controller.", LOWEST))


def _count_unknown_rows(pooled: Pooled, catalogue: Catalogue) -> dict[str, int]:
    """Count the observations of rows that the catalogue doesn't have, by row."""
    counts: Counter[str] = Counter()
    for row in pooled.cases:
        if row["requirement"] not in catalogue:
            counts[row["requirement"]] += row["held"] + row["violated"] + row["recorded"]
    return dict(sorted((+counts).items()))
