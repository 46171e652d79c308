"""The exit code of a run over many columns: one for all legs, from their shards together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from conformance.campaign.plan import Leg
from conformance.judging.pooling import judge_shards
from conformance.judging.verdicts import Cell
from conformance.running.baseline import Baseline
from conformance.running.session import (
    EXIT_INTERRUPTED,
    EXIT_SATISFIED,
    EXIT_TROUBLE,
    EXIT_VIOLATED,
    EXIT_WRONG_USE,
    exit_code,
)
from history.shards import read_header, read_shard, read_shards


def code_of(out: Path, legs: Sequence[Leg], known: Baseline) -> int:
    """130 or 2 if a leg ended so; else what the columns amount to together; 3 where a leg had trouble that no cell shows."""
    codes = {leg.code for leg in legs}
    for code in (EXIT_INTERRUPTED, EXIT_WRONG_USE):
        if code in codes:
            return code
    judged = exit_code(EXIT_SATISFIED, judged_columns(out / "shards"), known)
    if judged == EXIT_SATISFIED and any(_troubled(leg, out / "shards") for leg in legs):
        return EXIT_TROUBLE
    return judged


def judged_columns(folder: Path) -> list[Cell]:
    """All cells, judged a column at a time: the lines of all columns of many nights may not fit into memory.

    A file without a header counts for every column, of which nothing is satisfied then.
    """
    files: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*.jsonl")):
        header = read_header(path)
        files[header.column.label if header is not None else ""].append(path)
    headless = files.pop("", [])
    columns = (judge_shards(map(read_shard, [*paths, *headless])) for paths in files.values())
    return [cell for column in columns for cell in column]


def _troubled(leg: Leg, folder: Path) -> bool:
    """Was it killed, left it no column, or was its trouble another than that its own column has nothing satisfied?"""
    own = judge_shards(read_shards(folder, leg.run), run=leg.run)
    if leg.code not in (EXIT_SATISFIED, EXIT_VIOLATED, EXIT_TROUBLE) or not own:
        return True
    return leg.code == EXIT_TROUBLE and not _explains_trouble(own)


def _explains_trouble(own: Sequence[Cell]) -> bool:
    return exit_code(EXIT_SATISFIED, own, Baseline()) == EXIT_TROUBLE
