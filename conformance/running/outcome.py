"""What a run over many columns ends with: one exit code for all legs, judged from their shards together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conformance.judges.tally import Matrix, judge_shards
from conformance.running.baseline import Baseline
from conformance.running.plan import Leg
from conformance.running.session import (
    EXIT_INTERRUPTED,
    EXIT_SATISFIED,
    EXIT_TROUBLE,
    EXIT_VIOLATED,
    EXIT_WRONG_USE,
    exit_code,
)
from history.shards import Shard, read_shards


def code_of(out: Path, legs: Sequence[Leg], known: Baseline) -> int:
    """130 or 2 if a leg ended so; else what the columns amount to together; 3 where a leg had trouble that no cell shows."""
    codes = {leg.code for leg in legs}
    for code in (EXIT_INTERRUPTED, EXIT_WRONG_USE):
        if code in codes:
            return code
    shards = list(read_shards(out / "shards"))
    judged = exit_code(EXIT_SATISFIED, judge_shards(shards), known)
    if judged == EXIT_SATISFIED and any(_troubled(leg, shards) for leg in legs):
        return EXIT_TROUBLE
    return judged


def _troubled(leg: Leg, shards: Sequence[Shard]) -> bool:
    """Was it killed, left it no column, or was its trouble another than that its own column has nothing satisfied?"""
    own = judge_shards(shards, run=leg.run)
    if leg.code not in (EXIT_SATISFIED, EXIT_VIOLATED, EXIT_TROUBLE) or not own.cells:
        return True
    return leg.code == EXIT_TROUBLE and not _explains_trouble(own)


def _explains_trouble(own: Matrix) -> bool:
    return exit_code(EXIT_SATISFIED, own, Baseline()) == EXIT_TROUBLE
