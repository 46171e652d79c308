"""Judges that return early without an excuse, each with the reason why there is nothing to judge then."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

NOTHING_TO_JUDGE = {
    "due.py bound_is_kept": "the bound is that of another row",
    "log/convergence.py _in_sync": "no broker described the ISR at the end, so no replica is said to be in it",
    "log/convergence.py _logs": "the leader's log was not read at the end",
    "log/convergence.py healed_replicas_converge": "the history does not end with a look at the replicas",
    "log/delete_records.py _judge_later_fetches": "no leader is known to compare with",
    "log/delete_records.py _log_start_is_adopted": "no leader is known to compare with",
    "log/disks.py acknowledged_records_outlive_disks": "no disk was lost, or nothing was written or read",
    "log/elections.py judge_at": "the bound has not passed, or was reported before",
    "log/elections.py only_electable_replicas_lead": "registered_elections judges by the metadata log",
    "log/in_sync_replicas.py _judge_views": "no replica was fenced",
    "log/in_sync_replicas.py _stays": "too few looks, or over too short a time, to say that it stays",
    "log/in_sync_replicas.py _write_findings": "no ISR was described before the write, or it is not about one",
    "log/in_sync_replicas.py acks_all_needs_min_insync_replicas": "one replica is enough",
    "log/in_sync_replicas.py look": "an older look came after a newer one",
    "log/isolation.py other_log_directories_stay_online": "no log directory failed",
    "log/leader_epochs.py fetches_at_an_unknown_epoch_are_refused": "the history has no rest",
    "log/leader_epochs.py former_leaders_commit_nothing": "no leader has a successor",
    "log/log_start_moves.py _judge_move": "the log start did not move",
    "log/offsets.py epoch_end_offsets_match_the_log": "no leader's log was read, or it is empty",
    "log/readers.py _judge_delivery": "no read shows what was delivered",
    "log/readers.py _judge_rewind": "nothing answers where the reader has to go",
    "log/readers.py readers_miss_nothing_that_survives": "there is no reader",
    "log/reassignments.py _cancelling_restores": "no reassignment was under way, or it is not known from which replicas",
    "log/reassignments.py _has_all_named": "no reassignment was acknowledged, or no broker described the replicas at rest",
    "log/records.py acknowledged_records_are_kept": "nothing was acknowledged",
    "producers/outcomes.py _judge_dangling": "the transaction is not known to have ended",
    "producers/outcomes.py _judge_transaction": "without an acknowledged end it takes two batches to disagree",
    "producers/records.py _judge_retries": "no batch of unknown outcome was sent again",
    "producers/refusals.py _begins": "no fault was healed",
    "producers/refusals.py _judge_answer": "the error passes by itself, and INV-16 counts it",
}


def early_returns(judging: Path) -> Iterator[tuple[str, int]]:
    """Yield each judge, or part of one, that may return without a finding or an excuse, and the line of the condition."""
    for path in sorted(judging.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and _claims(node):
                yield from ((f"{path.relative_to(judging)} {node.name}", line) for line in _silent(node))


def _claims(function: ast.FunctionDef) -> bool:
    result = ast.unparse(function.returns) if function.returns is not None else ""
    return result in ("Iterator[Claim]", "Iterator[Finding]")


def _silent(function: ast.FunctionDef) -> Iterator[int]:
    for node in ast.walk(function):
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return):
            parts = [part for statement in node.body for part in ast.walk(statement)]
            if not any(isinstance(part, ast.Yield | ast.YieldFrom) for part in parts):
                yield node.lineno
