"""The matrix in a terminal: counts per KIP and column, then each cell that asks for a look."""

from __future__ import annotations

import re
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.judges.verdicts import VERDICTS, Verdict
from reports.matrix import Matrix
from reports.shown import GLYPHS, alarming, by_kip, cell_text, counts, problems

STYLES: dict[Verdict, str] = {
    "violated": "bold red",
    "flaky": "yellow",
    "error": "magenta",
    "inconclusive": "cyan",
    "satisfied": "green",
    "recorded": "blue",
    "not-run": "dim",
    "untested": "dim",
    "inapplicable": "dim",
}

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WIDE = 200
_ALIKE = 3
"""More cells of a column than this that say the same thing share a line."""


def show(matrix: Matrix, file: TextIO) -> None:
    """Print the matrix: coloured for a terminal, plain lines for anything else."""
    console = Console(file=file, highlight=False, width=None if file.isatty() else _WIDE, soft_wrap=True)
    console.print(_table(matrix))
    console.print(_legend(matrix))
    for verdict, label, text, rows in _lines(matrix):
        line = Text(f"{GLYPHS[verdict]} {verdict:<12} ", style=STYLES[verdict])
        console.print(line.append(f"{label}  {rows}: {text}", style="default"))
    for problem in problems(matrix):
        console.print(Text(f"note: {_clean(problem)}", style="yellow"))


def _table(matrix: Matrix) -> Table:
    table = Table(title="Kafka conformance", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("Kafka")
    table.add_column("rows of")
    used = _used(matrix)
    for verdict in used:
        table.add_column(GLYPHS[verdict], justify="right", style=STYLES[verdict], min_width=3)
    for column in matrix.columns:
        label = column.kafka_version
        name = f"{_clean(label)}{' (incomplete)' if column.incomplete else ''}"
        for group in by_kip(matrix):
            table.add_row(name, f"KIP-{group.kip}", *_counts(counts(group.cells, label), used))
            name = ""
        table.add_row("", "all", *_counts(counts(matrix.cells, label), used), end_section=True)
    return table


def _used(matrix: Matrix) -> list[Verdict]:
    return [verdict for verdict in VERDICTS if any(verdict in column.verdicts for column in matrix.columns)]


def _counts(found: dict[Verdict, int], used: list[Verdict]) -> list[str]:
    return [str(found.get(verdict, "")) for verdict in used]


def _legend(matrix: Matrix) -> Text:
    text = Text("  ")
    for verdict in _used(matrix):
        text.append(f"{GLYPHS[verdict]} {verdict}   ", style=STYLES[verdict])
    return text.append("\n")


def _lines(matrix: Matrix) -> list[tuple[Verdict, str, str, str]]:
    """(verdict, column, why, rows) of all cells that ask for a look; cells that say the same share a line."""
    alike: dict[tuple[Verdict, str, str], list[str]] = {}
    for cell in alarming(matrix):
        key = (cell.verdict, _clean(cell.kafka_version), _clean(cell_text(cell))[:_WIDE])
        alike.setdefault(key, []).append(cell.requirement)
    return [(*key, rows) for key, group in alike.items() for rows in _joined(group)]


def _joined(rows: list[str]) -> list[str]:
    return rows if len(rows) <= _ALIKE else [f"{rows[0]} and {len(rows) - 1} more"]


def _clean(text: str) -> str:
    """Nothing that a broker said may steer the terminal."""
    return _CONTROL.sub(" ", text)
