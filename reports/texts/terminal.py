"""The matrix in a terminal: counts per column, then each row that needs a look."""

from collections.abc import Iterator
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.judging.verdicts import VERDICTS, Verdict
from history.observations import KEEPS_NOT
from reports.matrix import Matrix
from reports.rule_changes import RuleChange, with_observations
from reports.texts.findings import RowFinding, findings
from reports.texts.wording import ALARMING, GLYPHS, column_problems, doubtful_deviations, replace_controls

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

_WIDE = 200
_ALIKE = 3
"""The maximum number of rows with the same reason on the same columns that get a line each; more rows share one."""
_LINES: dict[Verdict, int] = {"violated": 100, "flaky": 30, "error": 30, "inconclusive": 10}
"""The maximum number of lines of a verdict; the page has them all."""


def show(matrix: Matrix, file: TextIO) -> None:
    """Print the matrix: coloured for a terminal, plain lines for anything else."""
    console = Console(file=file, highlight=False, width=None if file.isatty() else _WIDE, soft_wrap=True)
    console.print(_matrix_table(matrix))
    console.print(_verdict_legend(matrix))
    for verdict in ALARMING:
        lines = list(_finding_lines(findings(matrix, [verdict])))
        for text in lines[: _LINES[verdict]]:
            line = Text(f"{GLYPHS[verdict]} {verdict:<12} ", style=STYLES[verdict])
            console.print(line.append(text, style="default"))
        if len(lines) > _LINES[verdict]:
            console.print(Text(f"  and {len(lines) - _LINES[verdict]} more {verdict}, on the page", style="dim"))
    for text in doubtful_deviations(matrix):
        console.print(
            Text(f"{GLYPHS['violated']} deviation    ", style=STYLES["violated"]).append(
                replace_controls(text), style="default"
            )
        )
    if changes := with_observations(matrix.rule_changes):
        console.print(_rule_changes(changes))
    for problem in column_problems(matrix):
        console.print(Text(f"note: {replace_controls(problem)}", style="yellow"))


def _matrix_table(matrix: Matrix) -> Table:
    table = Table(title="Kafka conformance", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("Kafka")
    used = _verdicts_in(matrix)
    for verdict in used:
        table.add_column(GLYPHS[verdict], justify="right", style=STYLES[verdict], min_width=3)
    for column in matrix.columns:
        mark = f" ({column.age})" if column.age else " (incomplete)" if column.incomplete else ""
        name = f"{replace_controls(column.kafka_version)}{mark}"
        table.add_row(name, *(str(column.verdicts.get(verdict, "")) for verdict in used))
    return table


def _rule_changes(changes: list[RuleChange]) -> Table:
    table = Table(title="Where the rule changed", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("Row", "Rule", "Promised by", "First kept", "Not kept"):
        table.add_column(heading)
    for change in changes:
        without = [replace_controls(label) for label, value in change.values.items() if value == KEEPS_NOT]
        kept = [replace_controls(change.first) or "–", ", ".join(without) or "–"]
        table.add_row(change.requirement, change.title, change.promised, *kept)
    return table


def _verdicts_in(matrix: Matrix) -> list[Verdict]:
    return [verdict for verdict in VERDICTS if any(verdict in column.verdicts for column in matrix.columns)]


def _verdict_legend(matrix: Matrix) -> Text:
    text = Text("  ")
    for verdict in _verdicts_in(matrix):
        text.append(f"{GLYPHS[verdict]} {verdict}   ", style=STYLES[verdict])
    return text.append("\n")


def _finding_lines(found: list[RowFinding]) -> Iterator[str]:
    """Yield columns, row and reason; several rows with the same reason on the same columns share a line."""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in found:
        alike.setdefault((replace_controls(each.where), replace_controls(each.text)[:_WIDE]), []).append(
            each.row.requirement
        )
    for (where, text), rows in alike.items():
        for names in rows if len(rows) <= _ALIKE else [f"{rows[0]} and {len(rows) - 1} more"]:
            yield f"{where}  {names}: {text}"
