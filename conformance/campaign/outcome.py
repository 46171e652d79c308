"""The exit code of a campaign: one for all columns, judged from their shards together."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from conformance.campaign.plan import ColumnRun
from conformance.catalogue.deviations import Deviation
from conformance.judging.news import Explained, explained_cases
from conformance.judging.pooling import judge_shards
from conformance.judging.verdicts import Cell
from conformance.running.baseline import Baseline, news_since, profiles_of
from conformance.running.session import exit_code
from conformance.running.settings import Option
from history.exit_codes import (
    EXIT_INTERRUPTED,
    EXIT_SATISFIED,
    EXIT_TROUBLE,
    EXIT_VIOLATED,
    EXIT_WRONG_USE,
    exit_code_of,
)
from history.shards import read_header, read_shard, read_shards


def campaign_exit_code(
    out: Path,
    columns: Sequence[ColumnRun],
    known: Baseline,
    deviations: Sequence[Deviation] = (),
    *,
    is_whole: bool = False,
) -> int:
    """Return the exit code: 130 or 2 if a column ended with it; else that of all cells together; else 3 if a column had
    an error that no cell shows.

    Only columns run as a whole have to execute what the baseline executed.
    """
    codes = {column.code for column in columns}
    if code := exit_code_of(interrupted=EXIT_INTERRUPTED in codes, wrong_use=EXIT_WRONG_USE in codes):
        return code
    judged = judge_columns(out / "shards", deviations)
    news = news_since(known, judged.cells, judged.explained, judged.profiles if is_whole else ())
    return exit_code(EXIT_SATISFIED, judged.cells, news) or exit_code_of(
        troubled=any(is_troubled(column, out / "shards") for column in columns)
    )


class JudgedColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The cells of all columns, what known deviations explain of them, and the profiles in which they were run."""

    cells: list[Cell]
    explained: Explained
    profiles: list[str]


def judge_columns(folder: Path, deviations: Sequence[Deviation] = ()) -> JudgedColumns:
    """Judge all cells one column at a time: the lines of many columns and nights may not fit into memory.

    A file without a header counts for every column; then no cell is satisfied.
    """
    files: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*.jsonl")):
        header = read_header(path)
        files[header.column.label if header is not None else ""].append(path)
    headless = files.pop("", [])
    cells, explained, profiles = list[Cell](), dict[tuple[str, str], Sequence[str]](), set[str]()
    for paths in files.values():
        shards = [*map(read_shard, [*paths, *headless])]
        cells += judge_shards(shards)
        explained |= explained_cases(shards, deviations)
        profiles.update(profiles_of(shards))
    return JudgedColumns(cells=cells, explained=explained, profiles=sorted(profiles))


def is_partial(options: Sequence[str], environment: Mapping[str, str]) -> bool:
    """True if pytest's options, or those in environment variables, leave out checks."""
    words = {word.partition("=")[0] for word in options}
    return (
        bool(words & set(_LEAVING_OUT))
        or any(word[:2] in ("-k", "-m") or ".py" in word or Path(word).is_dir() for word in options)
        or any(Option(flag, "").variable in environment for flag in _LEAVING_OUT)
    )


_LEAVING_OUT = ("--requirement", "--conformance-machines", "--replay")


def is_troubled(column: ColumnRun, folder: Path) -> bool:
    """True if the column was killed, left no shard, or had an error that its cells do not explain."""
    own = judge_shards(read_shards(folder, column.run), run=column.run)
    if column.code not in (EXIT_SATISFIED, EXIT_VIOLATED, EXIT_TROUBLE) or not own:
        return True
    return column.code == EXIT_TROUBLE and not _explains_trouble(own)


def _explains_trouble(own: Sequence[Cell]) -> bool:
    """True if a cell shows what went wrong, so that the column's exit code needs no other reason."""
    return exit_code(EXIT_SATISFIED, own, news_since(Baseline(), own, {})) == EXIT_TROUBLE
