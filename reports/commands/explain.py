"""The explanation of a cell: the row, the observations behind the verdict, and how to reproduce it."""

import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import to_builtins

from conformance.catalogue import shipped_rows
from reports.commands.options import HELP, Form, complete_rows, form, matrix_file, matrix_options, print_json
from reports.matrix_file import column_named, read_insights, read_matrix, rows_named
from reports.texts.explanation import ExplainedCell, explanation
from reports.texts.wording import replace_controls

_WIDEST = 110


@click.command(context_settings=HELP, short_help="Explain a cell: its verdict, the evidence, and how to see it again.")
@click.argument("row", shell_complete=complete_rows)
@click.option(
    "--kafka-version", "column", default="", metavar="V", help="a column of the matrix; default: the newest one"
)
@matrix_options
@form
def explain(row: str, column: str, out: Path, matrix: Path | None, form: Form) -> None:
    """Explain a cell: the row, the observations behind the verdict, and how to reproduce it.

    ROW is a row such as KIP320-FETCH-03, or a glob.
    """
    file = matrix_file(out, matrix)
    read, insights = read_matrix(file), read_insights(file)
    label = column_named(column or read.kafka_versions[-1], read.kafka_versions)
    rows = rows_named(row, [each.requirement for each in read.requirements])
    if form == "json":
        print_json(
            [to_builtins(cell) for cell in read.cells if cell.requirement in rows and cell.kafka_version == label]
        )
        return
    rules = {rule.id: rule for rule in shipped_rows()}
    for place, id in enumerate(rows):
        if place:
            print()
        explained = ExplainedCell(read, insights, id, label, rules.get(id), _run_folder(file))
        sys.stdout.writelines(f"{line}\n" for line in _wrap_lines(explanation(explained)))


def _run_folder(matrix: Path) -> Path | None:
    """Return DIR if the file is DIR/matrix/matrix.json, where the kit writes a run's matrix."""
    beside = matrix.parent.parent
    return beside if (beside / "evidence").is_dir() or (beside / "histories").is_dir() else None


def _wrap_lines(lines: Iterator[str]) -> Iterator[str]:
    """Wrap long lines with the indent of their beginning; commands, indented by six, stay whole for copying."""
    width = min(shutil.get_terminal_size((_WIDEST, 0)).columns, _WIDEST)
    for line in map(replace_controls, lines):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        whole = line.startswith("      ") or len(line) <= width
        yield line if whole else textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False)
