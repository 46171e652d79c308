"""Changes between two columns of a matrix, or between two matrices."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import click

from conformance.catalogue import shipped_rows
from conformance.judging.verdicts import Verdict
from history.exit_codes import exit_code_of
from reports.commands.options import HELP, Form, form, matrix_file, matrix_options, print_json
from reports.differences import (
    TURN_WORDS,
    TURNS,
    ChangedRow,
    ColumnDifference,
    Turn,
    between_columns,
    between_matrices,
    turn_counts,
)
from reports.matrix_file import read_compared
from reports.texts.wording import GLYPHS, replace_controls


@click.command(context_settings=HELP, short_help="Compare two columns, or two matrices.")
@click.argument("old")
@click.argument("new")
@matrix_options
@click.option(
    "--fail-on-worse",
    is_flag=True,
    help="end with 1 if a row is newly violated or flaky, else with 3 if the new column has trouble or too few rows",
)
@form
def diff(old: str, new: str, out: Path, matrix: Path | None, fail_on_worse: bool, form: Form) -> int:
    """Show changes between two columns of a matrix, or between two matrices: OLD and NEW are columns, or files matrix.json."""
    if old.endswith(".json"):
        differences = between_matrices(read_compared(Path(old)), read_compared(Path(new)))
    else:
        differences = [between_columns(read_compared(matrix_file(out, matrix)), old, new)]
    if form == "json":
        print_json([changes_of(each) for each in differences])
    else:
        sys.stdout.writelines(f"{line}\n" for line in summary_lines(differences))
    return exit_code_of(
        violated=fail_on_worse and any(moved.change.worse for each in differences for moved in each.moved),
        troubled=fail_on_worse and any(each.trouble for each in differences),
    )


def changes_of(difference: ColumnDifference) -> dict[str, object]:
    """Return a difference as JSON: the two columns, and the changed rows by turn, with their verdicts before and
    after."""
    return {
        "old": difference.old,
        "new": difference.new,
        "unchanged": difference.unchanged,
        "trouble": difference.trouble,
        **{turn: [_change_as_json(each) for each in difference.turned_rows(turn)] for turn in TURNS},
    }


def _change_as_json(row: ChangedRow) -> dict[str, object]:
    change = row.change
    return {
        "requirement": change.requirement,
        "before": change.before or None,
        "after": change.after or None,
        "reason": row.reason or None,
    }


def summary_lines(differences: Sequence[ColumnDifference]) -> Iterator[str]:
    """Yield lines: for each pair its counts, then the rows that changed."""
    for place, each in enumerate(differences):
        if place:
            yield ""
        between = replace_controls(each.old if each.old == each.new else f"{each.old} -> {each.new}")
        counts = {turn: len(each.turned_rows(turn)) for turn in TURNS}
        yield f"{between}: {turn_counts(counts)}, {each.unchanged} unchanged"
        yield from (f"  {replace_controls(reason)}" for reason in each.trouble)
        for turn in TURNS:
            yield from _turn_lines(turn, each.turned_rows(turn))


def _turn_lines(turn: Turn, moved: Sequence[ChangedRow]) -> Iterator[str]:
    if moved:
        yield from ("", TURN_WORDS.get(turn, turn))
    groups: dict[tuple[str, str], list[ChangedRow]] = {}
    for each in moved:
        groups.setdefault((each.change.before, each.change.after), []).append(each)
    for group in groups.values():
        change = group[0].change
        yield f"  {_verdict_or_none(change.before)} -> {_verdict_or_none(change.after)}"
        for each in group:
            yield f"    {each.change.requirement}  {_row_title(each.change.requirement)}"
            if each.reason:
                yield f"        {replace_controls(each.reason)}"


def _verdict_or_none(verdict: Verdict | Literal[""]) -> str:
    return f"{GLYPHS[verdict]} {verdict}" if verdict else "(no cell)"


def _row_title(row: str) -> str:
    return shipped_rows()[row].title if row in shipped_rows() else "(a row that this kit's catalogue does not have)"
