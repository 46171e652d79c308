"""Shards to a matrix on one machine. Spark pools the same evidence for many; `judge_cell` decides in both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import PurePath

import msgspec

from conformance.catalogue import Facts, Requirement, shipped
from conformance.catalogue.former_hashes import unchanged
from conformance.judging.verdicts import VERDICTS, CaseTally, CellEvidence, Verdict, judge_cell
from history.shards import AnyShardLine, CheckLine, Footer, Header, ObservationLine, Shard


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


class Gathered:
    """One shard, from however many files hold pieces of it: a line that is there twice counts once."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.by_number: dict[int, set[bytes]] = defaultdict(set)
        self.lines: list[AnyShardLine] = []
        self.header: Header | None = None
        self.headers = 0

    def add(self, line: AnyShardLine) -> None:
        if line.n < 0:
            return
        text = msgspec.json.encode(line, order="sorted")
        if text not in self.by_number[line.n]:
            self.by_number[line.n].add(text)
            self.lines.append(line)
            self.headers += isinstance(line, Header)
        if isinstance(line, Header):
            self.header = line

    @property
    def trusted(self) -> bool:
        """Does it tell its column, and only one, and carries no number two different lines?"""
        return self.headers == 1 and all(len(texts) == 1 for texts in self.by_number.values())

    @property
    def missing(self) -> str:
        """What it is known to lack, in words."""
        footer = min((line for line in self.lines if isinstance(line, Footer)), key=lambda line: line.n, default=None)
        if footer is None:
            return f"shard {self.id} has no footer: its worker was cut short"
        gaps = footer.n + 1 - len(self.by_number)
        if max(self.by_number) != footer.n:
            return f"shard {self.id} goes on after its footer"
        if gaps:
            return f"shard {self.id} lacks {gaps} of its lines"
        return "" if self._counts(footer) else f"shard {self.id} has a footer that counts other lines"

    def _counts(self, footer: Footer) -> bool:
        found = Counter(type(line).__struct_config__.tag for line in self.lines)
        return all(found[kind] == said for kind, said in footer.counts.items())


class _Pool:
    """Everything the shards of one column say."""

    def __init__(self) -> None:
        self.version = ""
        self.ranges: dict[str, int] = {}
        self.current: set[str] = set()
        self.outdated: set[str] = set()
        self.checks: dict[str, set[str]] = defaultdict(set)
        self.observed: dict[str, dict[str, list[ObservationLine]]] = defaultdict(lambda: defaultdict(list))
        self.ran: dict[str, set[str]] = defaultdict(set)
        self.errors: dict[str, set[str]] = defaultdict(set)
        self.lost: list[str] = []

    @property
    def facts(self) -> Facts:
        return Facts(version=self.version, ranges=self.ranges)

    def pour(self, shard: Gathered, header: Header) -> None:
        self.version = header.column.version
        for name, level in header.column.ranges.items():
            self.ranges[name] = max(level, self.ranges.get(name, level))
        for row, checks in header.checks.items():
            self.checks[row].update(checks)
        self.lost += [shard.missing] if shard.missing else []
        outdated = {row.id for row in shipped() if not unchanged(row, header.rows.get(row.id, row.hash))}
        self.outdated |= outdated
        self.current |= header.rows.keys() - outdated
        for line in shard.lines:
            if isinstance(line, CheckLine):
                self._ended(line, set(line.rows) - outdated)
            elif isinstance(line, ObservationLine) and line.requirement not in outdated:
                self.observed[line.requirement][line.case].append(line)
                self.ran[line.requirement].add(line.check)

    def _ended(self, line: CheckLine, rows: set[str]) -> None:
        for row in rows:
            if line.outcome != "cut-off" or line.examples:
                self.ran[row].add(line.check)
            if line.outcome == "error":
                self.errors[row].add(line.check)

    def evidence(self, row: Requirement, lost_anywhere: list[str]) -> CellEvidence:
        return CellEvidence(
            cases={case: _tally(lines) for case, lines in self.observed[row.id].items()},
            checks=len(self.checks[row.id]),
            ran=len(self.ran[row.id]),
            errors=len(self.errors[row.id]),
            changed=row.id in self.outdated - self.current,
            lost="; ".join(sorted(self.lost + lost_anywhere)),
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
        examples=len({(line.shard, line.example) for line in lines}),
        wavering=any(len(seen) > 1 for seen in variants.values()),
    )


def judge_shards(shards: Iterable[Shard], run: str = "") -> Matrix:
    """All cells of the columns that the shards (of one run, if named) speak of.

    The same for any order, splitting and repeating of the lines. A shard without a header, or with two lines under one
    number, does not count; nothing is satisfied beside it, nor beside a torn line that tells no shard, nor in a column of
    which a line is known to be missing.
    """
    pools: dict[str, _Pool] = defaultdict(_Pool)
    pieces = list(shards)
    strays = [piece for piece in pieces if "" in piece.torn_of and PurePath(piece.path).name.startswith(run)]
    lost = ["a torn line tells no shard, or a file is empty"] if strays else []
    for shard in gather(pieces):
        if shard.header is None:
            lost += [f"shard {shard.id} has no readable header"] if shard.id.startswith(run) else []
        elif run in ("", shard.header.run):
            if shard.trusted:
                pools[shard.header.column.label].pour(shard, shard.header)
            else:
                lost.append(f"shard {shard.id} carries different lines under one number")
    return Matrix(cells=[_cell(row, label, pool, lost) for label, pool in sorted(pools.items()) for row in shipped()])


def gather(pieces: Iterable[Shard]) -> list[Gathered]:
    """The shards that these files hold, whole or in pieces."""
    shards: dict[str, Gathered] = {}
    for piece in pieces:
        for id in piece.torn_of - {""}:
            shards.setdefault(id, Gathered(id))
        for line in piece.lines:
            shards.setdefault(line.shard, Gathered(line.shard)).add(line)
    return list(shards.values())


def _cell(row: Requirement, label: str, pool: _Pool, lost: list[str]) -> Cell:
    evidence = pool.evidence(row, lost)
    judgement = judge_cell(row, pool.facts, evidence)
    return Cell(
        requirement=row.id,
        label=label,
        verdict=judgement.verdict,
        reason=judgement.reason,
        observations=sum(tally.observations for tally in evidence.cases.values()),
    )
