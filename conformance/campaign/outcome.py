"""The exit code of a campaign: one for all columns, judged from their shards together."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from conformance.campaign.plan import ColumnRun
from conformance.judging.pooling import judge_shards
from conformance.judging.verdicts import Cell
from conformance.running.baseline import Baseline
from conformance.running.session import exit_code
from history.exit_codes import (
    EXIT_INTERRUPTED,
    EXIT_SATISFIED,
    EXIT_TROUBLE,
    EXIT_VIOLATED,
    EXIT_WRONG_USE,
    exit_code_of,
)
from history.shards import read_header, read_shard, read_shards


def code_of(out: Path, columns: Sequence[ColumnRun], known: Baseline) -> int:
    """Return the exit code: 130 or 2 if a column ended with it; else that of all cells together; else 3 if a column had
    an error that no cell shows."""
    codes = {column.code for column in columns}
    if code := exit_code_of(interrupted=EXIT_INTERRUPTED in codes, wrong_use=EXIT_WRONG_USE in codes):
        return code
    judged = exit_code(EXIT_SATISFIED, judged_columns(out / "shards"), known)
    return judged or exit_code_of(troubled=any(_is_troubled(column, out / "shards") for column in columns))


def judged_columns(folder: Path) -> list[Cell]:
    """Judge all cells one column at a time: the lines of many columns and nights may not fit into memory.

    A file without a header counts for every column; then no cell is satisfied.
    """
    files: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*.jsonl")):
        header = read_header(path)
        files[header.column.label if header is not None else ""].append(path)
    headless = files.pop("", [])
    columns = (judge_shards(map(read_shard, [*paths, *headless])) for paths in files.values())
    return [cell for column in columns for cell in column]


def _is_troubled(column: ColumnRun, folder: Path) -> bool:
    """True if the column was killed, left no shard, or had an error that its cells do not explain."""
    own = judge_shards(read_shards(folder, column.run), run=column.run)
    if column.code not in (EXIT_SATISFIED, EXIT_VIOLATED, EXIT_TROUBLE) or not own:
        return True
    return column.code == EXIT_TROUBLE and not _explains_trouble(own)


def _explains_trouble(own: Sequence[Cell]) -> bool:
    """True if a cell shows what went wrong, so that the column's exit code needs no other reason."""
    return exit_code(EXIT_SATISFIED, own, Baseline()) == EXIT_TROUBLE
