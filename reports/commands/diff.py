"""Changes between two columns of a matrix, or between two matrices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from conformance.catalogue import shipped
from conformance.judging.verdicts import Verdict
from reports.differences import TURNS, ChangedRow, ColumnDifference, Turn, between_columns, between_matrices
from reports.matrix_file import read_compared
from reports.texts.wording import GLYPHS, clean

MATRIX = Path("out/matrix/matrix.json")

WORSE = 1
"""The exit code of `--fail-on-worse`."""


def run(arguments: Sequence[str]) -> int:
    """0; with --fail-on-worse 1 if a row broke. Raises ReportError."""
    asked = _parser().parse_args(arguments)
    if asked.old.endswith(".json"):
        differences = between_matrices(read_compared(Path(asked.old)), read_compared(Path(asked.new)))
    else:
        differences = [between_columns(read_compared(asked.matrix), asked.old, asked.new)]
    sys.stdout.writelines(f"{line}\n" for line in summary_lines(differences))
    return WORSE if asked.fail_on_worse and any(each.turned("worse") for each in differences) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reports diff", description=__doc__)
    parser.add_argument("old", metavar="OLD", help="a column, or a matrix.json")
    parser.add_argument("new", metavar="NEW", help="a column, or a matrix.json")
    parser.add_argument(
        "--matrix", type=Path, default=MATRIX, metavar="FILE", help=f"the columns' matrix; default: {MATRIX}"
    )
    parser.add_argument(
        "--fail-on-worse", action="store_true", help="end with 1 if a row is violated or flaky now and was not"
    )
    return parser


def summary_lines(differences: Sequence[ColumnDifference]) -> Iterator[str]:
    """Lines: for each pair its counts, then the rows that changed."""
    for place, each in enumerate(differences):
        if place:
            yield ""
        between = clean(each.old if each.old == each.new else f"{each.old} -> {each.new}")
        counts = [f"{len(each.turned(turn))} {turn}" for turn in TURNS]
        yield f"{between}: {', '.join(counts)}, {each.unchanged} unchanged"
        for turn in TURNS:
            yield from _turn_lines(turn, each.turned(turn))


def _turn_lines(turn: Turn, moved: Sequence[ChangedRow]) -> Iterator[str]:
    if moved:
        yield from ("", turn)
    groups: dict[tuple[str, str], list[ChangedRow]] = {}
    for each in moved:
        groups.setdefault((each.change.before, each.change.after), []).append(each)
    for group in groups.values():
        change = group[0].change
        yield f"  {_verdict(change.before)} -> {_verdict(change.after)}"
        for each in group:
            yield f"    {each.change.requirement}  {_title(each.change.requirement)}"
            if each.reason:
                yield f"        {clean(each.reason)}"


def _verdict(verdict: Verdict | Literal[""]) -> str:
    return f"{GLYPHS[verdict]} {verdict}" if verdict else "(no cell)"


def _title(row: str) -> str:
    return shipped()[row].title if row in shipped() else "(a row that this kit's catalogue does not have)"
