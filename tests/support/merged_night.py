"""The merge of a night without Spark: the part of a matrix.json that a night reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.campaign.outcome import judge_columns
from conformance.judging.news import judged_cell
from conformance.running.baseline import Baseline
from reports.matrix_file import ComparedCell


def merge_here(out: Path, options: Sequence[str]) -> int:
    """Write the part of a matrix.json that a night reads, without Spark."""
    judged = judge_columns(out / "shards")
    evidence = [str(path.relative_to(out)) for path in out.glob("evidence/*/*")]
    cells = [ComparedCell(**msgspec.structs.asdict(judged_cell(cell, {})), evidence=evidence) for cell in judged.cells]
    labels = list(dict.fromkeys(cell.kafka_version for cell in cells))
    (out / "matrix" / "parquet").mkdir(parents=True)
    (out / "matrix" / "matrix.json").write_bytes(msgspec.json.encode(Baseline(kafka_versions=labels, cells=[*cells])))
    (out / "matrix" / "options.json").write_text(json.dumps([*options]))
    return 0
