"""The pooling of all shards' observations into cells, in this process. Spark pools large runs; `cell_of` decides in both.

A renamed check remains one check: observations recorded under its former id are pooled with the later ones.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from conformance.catalogue import Requirement, shipped_rows
from conformance.catalogue.floors import shaping
from conformance.judging import patch_releases
from conformance.judging.intake import ColumnFacts, ShardSummary, sort_shards
from conformance.judging.patch_releases import PatchComparison
from conformance.judging.registry import LEFT_OUTS, PRECONDITIONS
from conformance.judging.verdicts import VERDICTS, CaseTally, Cell, CellEvidence, is_troubled, judge_cell
from history.observations import KEEPS
from history.schema import SCHEMA
from history.shards import (
    AnyShardLine,
    AttemptCount,
    CheckLine,
    ExampleLine,
    ExcuseCount,
    Footer,
    Header,
    ObservationLine,
    Shard,
)


class GatheredShard:
    """One shard, which may be in pieces in several files; a repeated line counts once."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.torn = 0
        self.lines: list[AnyShardLine] = []
        self._texts: set[bytes] = set()

    def add(self, line: AnyShardLine) -> None:
        text = msgspec.json.encode(line, order="sorted")
        if line.n >= 0 and text not in self._texts:
            self._texts.add(text)
            self.lines.append(line)

    @property
    def header(self) -> Header | None:
        return next((line for line in self.lines if isinstance(line, Header)), None)

    @property
    def summary(self) -> ShardSummary:
        """The summary by which `sort_shards` decides if the shard counts."""
        numbers = {line.n for line in self.lines}
        footers = [line for line in self.lines if isinstance(line, Footer)]
        footer = min(footers, key=lambda line: line.n, default=None)
        kinds = Counter(str(line.__struct_config__.tag) for line in self.lines)
        header = self.header
        return ShardSummary(
            shard=self.id,
            lines=len(self.lines),
            bad=self.torn,
            numbers=len(numbers),
            first=min(numbers, default=None),
            last=max(numbers, default=None),
            footer=footer.n if footer else None,
            headers=kinds["header"],
            header=header,
            foreign=header.schema if header and header.schema != SCHEMA else None,
            kinds=kinds,
            counted=dict(footer.counts) if footer else None,
            ended_early=footer.ended_early if footer else None,
        )


def gather_shards(pieces: Iterable[Shard]) -> list[GatheredShard]:
    """Return the shards of these files, each joined from its pieces."""
    shards: dict[str, GatheredShard] = {}
    for piece in pieces:
        for id in piece.torn_of - {""}:
            shards.setdefault(id, GatheredShard(id)).torn += 1
        for line in piece.lines:
            shards.setdefault(line.shard, GatheredShard(line.shard)).add(line)
    return list(shards.values())


def judge_shards(shards: Iterable[Shard], run: str = "") -> list[Cell]:
    """Return all cells of the columns to which the shards (of one run, if given) belong.

    The result does not depend on the order, splitting or repetition of lines. A shard without a header, or with two different
    lines under one number, does not count. Nothing is satisfied in a column with such a shard or a missing line, nor if there is
    a torn line whose shard cannot be determined.
    """
    pieces = list(shards)
    strays = [piece for piece in pieces if "" in piece.torn_of and PurePath(piece.path).name.startswith(run)]
    gathered = {shard.id: shard for shard in gather_shards(pieces) if _is_of(shard, run)}
    summaries = [shard.summary for shard in gathered.values()]
    torn = sum(piece.torn for piece in strays)
    intake = sort_shards(
        [*summaries, *([ShardSummary(shard="", lines=0, bad=torn, numbers=0)] if torn else [])],
        shipped_rows(),
        any(not p.torn for p in strays),
    )
    pools: dict[str, _Pool] = defaultdict(_Pool)
    for id, label in intake.shards.items():
        outdated = {row for shard, row in intake.outdated if shard == id}
        pools[label].add(gathered[id].lines, outdated)
    return [pools[column.kafka_version].cell(row, column) for column in intake.columns for row in shipped_rows()]


def _is_of(shard: GatheredShard, run: str) -> bool:
    return run in ("", shard.header.run) if shard.header else shard.id.startswith(run)


class _Pool:
    """The observations, examples and counts of one column's shards, by row."""

    def __init__(self) -> None:
        self._observed: dict[str, dict[str, list[ObservationLine]]] = defaultdict(lambda: defaultdict(list))
        self._ran: dict[str, set[str]] = defaultdict(set)
        self._errors: dict[str, set[str]] = defaultdict(set)
        self._excuses: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._attempts: dict[str, Attempts] = defaultdict(Attempts)
        self._hindrances: dict[str, set[str]] = defaultdict(set)

    def add(self, lines: Iterable[AnyShardLine], outdated: set[str]) -> None:
        for line in lines:
            if isinstance(line, CheckLine):
                self._add_check(line, set(line.rows) - outdated)
            elif isinstance(line, ExampleLine):
                self._add_excuses(one for one in line.excuses if one.requirement not in outdated)
            elif isinstance(line, ObservationLine) and line.requirement not in outdated:
                self._observed[line.requirement][line.case].append(line)
                self._ran[line.requirement].add(line.check)

    def _add_check(self, line: CheckLine, rows: set[str]) -> None:
        for row in rows:
            if line.outcome != "cut-off" or line.examples:
                self._ran[row].add(line.check)
            if line.outcome == "error":
                self._errors[row].add(line.check)
            if line.hindrance:
                self._hindrances[row].add(line.hindrance)
            for case, count in line.attempts.items():
                is_own = row in line.own_rows
                self._attempts[row].add(
                    line.check, case if is_own else "", count if is_own else msgspec.structs.replace(count, lost=0)
                )

    def _add_excuses(self, excuses: Iterable[ExcuseCount]) -> None:
        for one in excuses:
            self._excuses[one.requirement][one.case][one.excuse] += one.times

    def cell(self, row: Requirement, column: ColumnFacts) -> Cell:
        observed, excuses, attempts = self._observed[row.id], self._excuses[row.id], self._attempts[row.id]
        cases = {
            case: _tally(observed.get(case, ()), row.incidental, excuses.get(case, {}))
            for case in {*observed, *excuses}
        }
        checks = RowChecks(
            ran=len(self._ran[row.id]),
            errors=len(self._errors[row.id] | attempts.troubled_checks),
            attempts=attempts,
            hindrance=min(self._hindrances[row.id], default=""),
        )
        return cell_of(row, column, cases, checks)


class Attempts(dict[tuple[str, str], AttemptCount]):
    """The numbers of examples of a row's checks, by check and case. A check that only aims at the row has no case here, and no
    lost examples."""

    def add(self, check: str, case: str, count: AttemptCount) -> None:
        self[check, case] = self.get((check, case), AttemptCount()) + count

    @property
    def by_check(self) -> dict[str, AttemptCount]:
        found: dict[str, AttemptCount] = {}
        for (check, _), count in sorted(self.items()):
            found[check] = found.get(check, AttemptCount()) + count
        return found

    @property
    def troubled_checks(self) -> set[str]:
        """The checks of which too many examples ended in trouble of the kit."""
        return {check for check, count in self.by_check.items() if is_troubled(count)}

    def of_case(self, case: str) -> AttemptCount:
        return sum((count for (_, own), count in self.items() if own == case), AttemptCount())


class RowChecks(msgspec.Struct, frozen=True, kw_only=True):
    """The checks of a row on a column: how many `ran`, how many had too many examples with trouble of the kit, the counts of
    their examples, and the breach by which the tested system kept a check from going on."""

    ran: int = 0
    errors: int = 0
    attempts: Attempts = msgspec.field(default_factory=Attempts)
    hindrance: str = ""


class UndecidedCounts(NamedTuple):
    """Counts of what judges left undecided, by name, as in `CaseTally`."""

    excused: dict[str, int]
    left_out: dict[str, int]
    outside: dict[str, int]


def split_by_kind(excuses: Mapping[str, int]) -> UndecidedCounts:
    """Split the counts of what judges left undecided by kind, each in the order of names."""
    named = sorted(excuses.items())
    return UndecidedCounts(
        excused={name: times for name, times in named if name not in LEFT_OUTS | PRECONDITIONS},
        left_out={name: times for name, times in named if name in LEFT_OUTS},
        outside={name: times for name, times in named if name in PRECONDITIONS},
    )


def _tally(lines: Sequence[ObservationLine], incidental: Sequence[str], excuses: Mapping[str, int]) -> CaseTally:
    results, undecided = Counter(line.result for line in lines), split_by_kind(excuses)
    examples = {(line.shard, line.example) for line in lines}
    variants: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in lines:
        if line.variant:
            variants[line.check, line.inputs].add(line.variant)
    return CaseTally(
        held=results["held"],
        violated=results["violated"],
        recorded=results["recorded"],
        kept=sum(line.variant == KEEPS for line in lines),
        changed=_count_situations(line for line in lines if line.lived),
        inputs=len({shaping(line.inputs, incidental) for line in lines}),
        examples=len(examples),
        situations=_count_situations(line for line in lines if not line.calm),
        calm=sum(line.result == "held" and line.calm for line in lines),
        calm_examples=len(examples - {(line.shard, line.example) for line in lines if not line.calm}),
        wavering=any(len(answers) > 1 for answers in variants.values()),
        excused=undecided.excused,
        left_out=undecided.left_out,
        outside=undecided.outside,
    )


def _count_situations(lines: Iterable[ObservationLine]) -> int:
    return len({(line.shard, line.example, line.situation) for line in lines if line.result == "held"})


def cell_of(row: Requirement, column: ColumnFacts, cases: Mapping[str, CaseTally], checks: RowChecks) -> Cell:
    """Return the cell of a row on a column, judged by the pooled results of its cases and checks."""
    if row.id == patch_releases.ROW and column.patches:
        cases, checks = _tally_patches(column.patches), RowChecks(ran=1)
    tallies = _tallies(row, column, cases, checks.attempts)
    lost = "; ".join(column.incomplete)
    evidence = CellEvidence(
        cases=tallies,
        checks=len(column.checks.get(row.id, ())),
        ran=checks.ran,
        errors=checks.errors,
        changed=row.id in column.changed,
        lost=f"lines are missing that may have said otherwise: {lost}" if lost else "",
        attempts={check: count for (check, case), count in checks.attempts.items() if not case},
        hindrance=checks.hindrance,
    )
    judgement = judge_cell(row, column.facts, evidence)
    return Cell(
        requirement=row.id,
        kafka_version=column.kafka_version,
        verdict=judgement.verdict,
        reason=judgement.reason,
        value=judgement.value,
        observations=sum(tally.observations for tally in tallies.values()),
        violations=sum(tally.violated for tally in tallies.values()),
        cases=tallies,
        attempts={check: count for check, count in checks.attempts.by_check.items() if count.lost or count.errors},
    )


def _tally_patches(found: Sequence[PatchComparison]) -> dict[str, CaseTally]:
    results: dict[str, Counter[bool]] = defaultdict(Counter)
    for one in found:
        results[one.case][one.held] += 1
    return {
        case: CaseTally(held=counts[True], violated=counts[False], inputs=1, examples=counts.total())
        for case, counts in results.items()
    }


def _tallies(
    row: Requirement, column: ColumnFacts, cases: Mapping[str, CaseTally], attempts: Attempts
) -> dict[str, CaseTally]:
    """Return the row's applicable cases in the catalogue's order, observed or not; then others. Only probes waver."""
    applicable = {case.id: CaseTally() for case in row.applicable_cases(column.facts)}
    observed = {
        case: msgspec.structs.replace(tally, wavering=tally.wavering and row.kind == "probe")
        for case, tally in sorted(cases.items())
    }
    return {case: _with_attempts(tally, attempts.of_case(case)) for case, tally in (applicable | observed).items()}


def _with_attempts(tally: CaseTally, count: AttemptCount) -> CaseTally:
    return msgspec.structs.replace(tally, attempts=count.made, lost=count.lost)


def verdict_lines(cells: Sequence[Cell]) -> list[str]:
    """Return lines for a terminal: the number of cells of each verdict per column, then each cell worth looking at."""
    lines = []
    for label in sorted({cell.kafka_version for cell in cells}):
        column = [cell for cell in cells if cell.kafka_version == label]
        counts = Counter(cell.verdict for cell in column)
        lines.append(
            f"{label}: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        )
        lines += [
            f"  {cell.verdict:12} {cell.requirement}: {cell.reason}"
            for cell in column
            if cell.verdict in ("violated", "flaky", "error")
        ]
    return lines
