"""`badges/*.json` for shields.io's endpoint: one per column, and one for all of them."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance.judging.verdicts import Verdict
from reports.matrix import ColumnReport, Matrix

ALL = "all.json"
_COLORS: dict[Verdict, str] = {"violated": "red", "error": "lightgrey", "flaky": "yellow", "inconclusive": "yellow"}
"""The colors by verdict: the first verdict that occurs decides; `_badge_of_counts` chooses if none does."""


def badges(matrix: Matrix) -> dict[str, dict[str, Any]]:
    """Return the endpoint documents by file name."""
    total: Counter[Verdict] = Counter()
    for column in matrix.columns:
        total.update(column.verdicts)
    incomplete = any(column.incomplete for column in matrix.columns)
    return {
        ALL: _badge_of_counts("Kafka conformance", total, incomplete),
        **{file_of(column): _column_badge(column) for column in matrix.columns},
    }


def file_of(column: ColumnReport) -> str:
    """Return a file name such as `4.3.1.json`; a label that is no file name gets a part of its hash."""
    label = column.kafka_version
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", label)
    mark = (
        ""
        if plain == label and label not in ("all", ".", "..")
        else f"-{hashlib.sha256(label.encode()).hexdigest()[:8]}"
    )
    return f"{plain}{mark}.json"


def _column_badge(column: ColumnReport) -> dict[str, Any]:
    badge = _badge_of_counts(f"Kafka {column.kafka_version}", column.verdicts, bool(column.incomplete))
    return badge | {"message": f"{badge['message']} ({column.age})", "color": "lightgrey"} if column.age else badge


def _badge_of_counts(label: str, verdicts: Mapping[Verdict, int], incomplete: bool) -> dict[str, Any]:
    counts = [
        f"{verdicts[verdict]} {verdict}"
        for verdict in ("violated", "flaky", "error", "inconclusive", "satisfied")
        if verdicts.get(verdict)
    ]
    colors = [color for verdict, color in _COLORS.items() if verdicts.get(verdict)]
    color = "yellow" if incomplete else "brightgreen" if verdicts.get("satisfied") else "lightgrey"
    return {
        "schemaVersion": 1,
        "label": label,
        "message": ", ".join([*counts, *(["incomplete"] if incomplete else [])]) or "nothing judged",
        "color": colors[0] if colors else color,
    }
