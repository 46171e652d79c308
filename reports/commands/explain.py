"""The explanation of a cell: the row, the observations behind the verdict, and how to reproduce it."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.catalogue import shipped
from reports.matrix_file import column_named, read_insights, read_matrix, rows_named
from reports.texts.explanation import ExplainedCell, explanation
from reports.texts.wording import clean

MATRIX = Path("out/matrix/matrix.json")
_WIDEST = 110


def run(arguments: Sequence[str]) -> int:
    """0. Raises ReportError for a file that is not a matrix, and for rows and columns that it does not have."""
    asked = _parser().parse_args(arguments)
    matrix, insights = read_matrix(asked.matrix), read_insights(asked.matrix)
    label = column_named(asked.column or matrix.kafka_versions[-1], matrix.kafka_versions)
    rules = {rule.id: rule for rule in shipped()}
    for place, row in enumerate(rows_named(asked.row, [row.requirement for row in matrix.requirements])):
        if place:
            print()
        explained = ExplainedCell(matrix, insights, row, label, rules.get(row), _run(asked.matrix))
        sys.stdout.writelines(f"{line}\n" for line in _wrapped(explanation(explained)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reports explain", description=__doc__)
    parser.add_argument("row", metavar="ROW", help="a row such as KIP320-FETCH-03, or a glob")
    parser.add_argument("column", metavar="COLUMN", nargs="?", default="", help="default: the newest of the matrix")
    parser.add_argument("--matrix", type=Path, default=MATRIX, metavar="FILE", help=f"default: {MATRIX}")
    return parser


def _run(matrix: Path) -> Path | None:
    """The run's folder, if the file is where a run of the kit writes its matrix: DIR/matrix/matrix.json."""
    beside = matrix.parent.parent
    return beside if (beside / "evidence").is_dir() or (beside / "histories").is_dir() else None


def _wrapped(lines: Iterator[str]) -> Iterator[str]:
    """A line is continued below its own text; commands, which are indented by six, stay whole so that they can be copied."""
    width = min(shutil.get_terminal_size((_WIDEST, 0)).columns, _WIDEST)
    for line in map(clean, lines):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        whole = line.startswith("      ") or len(line) <= width
        yield line if whole else textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False)
