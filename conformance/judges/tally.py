"""Shards to a matrix on one machine. Spark pools the same evidence for many; `judge_cell` decides in both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from conformance.catalogue import Facts, Requirement, shipped
from conformance.judges.verdicts import VERDICTS, CaseTally, CellEvidence, Verdict, judge_cell
from history.shards import CheckLine, Header, ObservationLine, Shard


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    requirement: str
    label: str
    verdict: Verdict
    reason: str
    observations: int


class Matrix(msgspec.Struct, kw_only=True):
    cells: list[Cell]

    def lines(self) -> list[str]:
        """A summary for a terminal: counts per column, then each cell that wants a look."""
        lines = []
        for label in sorted({cell.label for cell in self.cells}):
            of_label = [cell for cell in self.cells if cell.label == label]
            counts = {verdict: sum(cell.verdict == verdict for cell in of_label) for verdict in VERDICTS}
            lines.append(f"{label}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n))
            lines += [
                f"  {cell.verdict:12} {cell.requirement}: {cell.reason}"
                for cell in of_label
                if cell.verdict in ("violated", "flaky", "error")
            ]
        return lines


class _Pool:
    """Everything the shards of one column say."""

    def __init__(self) -> None:
        self.facts = Facts(version="")
        self.hashes: dict[str, set[str]] = defaultdict(set)
        self.checks: dict[str, set[str]] = defaultdict(set)
        self.observed: dict[tuple[str, str], list[ObservationLine]] = defaultdict(list)
        self.ran: dict[str, set[str]] = defaultdict(set)
        self.errors: dict[str, set[str]] = defaultdict(set)

    def header(self, header: Header) -> None:
        if not self.facts.ranges:
            self.facts = Facts(version=header.column.version, ranges=header.column.ranges)
        for row, hash in header.rows.items():
            self.hashes[row].add(hash)
        for row, checks in header.checks.items():
            self.checks[row].update(checks)

    def check(self, line: CheckLine) -> None:
        for row in line.rows:
            if line.outcome != "cut-off" or line.examples:
                self.ran[row].add(line.check)
            if line.outcome == "error":
                self.errors[row].add(line.check)

    def evidence(self, row: Requirement) -> CellEvidence:
        cases = {case: _tally(lines) for (id, case), lines in self.observed.items() if id == row.id}
        return CellEvidence(
            cases=cases,
            checks=len(self.checks[row.id]),
            ran=len(self.ran[row.id]),
            errors=len(self.errors[row.id]),
            changed=bool(self.hashes[row.id] - {row.hash}),
        )


def _tally(lines: list[ObservationLine]) -> CaseTally:
    variants: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in lines:
        if line.variant:
            variants[line.check, line.inputs].add(line.variant)
    return CaseTally(
        held=sum(line.result == "held" for line in lines),
        violated=sum(line.result == "violated" for line in lines),
        recorded=sum(line.result == "recorded" for line in lines),
        inputs=len({line.inputs for line in lines}),
        examples=len({line.example for line in lines}),
        wavering=any(len(seen) > 1 for seen in variants.values()),
    )


def judge_shards(shards: Iterable[Shard], run: str = "") -> Matrix:
    """All cells of the columns that the shards (of one run, if named) speak of."""
    pools: dict[str, _Pool] = defaultdict(_Pool)
    for shard in shards:
        if shard.header is not None and run in ("", shard.header.run):
            _pour(shard, pools[shard.header.column.label])
    cells = []
    for label, pool in sorted(pools.items()):
        for row in shipped():
            evidence = pool.evidence(row)
            judgement = judge_cell(row, pool.facts, evidence)
            observations = sum(tally.observations for tally in evidence.cases.values())
            cells.append(
                Cell(
                    requirement=row.id,
                    label=label,
                    verdict=judgement.verdict,
                    reason=judgement.reason,
                    observations=observations,
                )
            )
    return Matrix(cells=cells)


def _pour(shard: Shard, pool: _Pool) -> None:
    for line in shard.lines:
        if isinstance(line, Header):
            pool.header(line)
        elif isinstance(line, CheckLine):
            pool.check(line)
        elif isinstance(line, ObservationLine):
            pool.observed[line.requirement, line.case].append(line)
