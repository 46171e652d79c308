"""What the clock cut off, and the command that runs just that."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from conformance.core.registry import AnyCheck
from conformance.running.settings import Settings
from history.shards import CheckLine, Shard


def cut_off(shards: Iterable[Shard]) -> dict[str, list[str]]:
    """Checks that never began or did not get to their floors for want of time, by column's label."""
    found: dict[str, set[str]] = defaultdict(set)
    for shard in shards:
        if shard.header is not None:
            lines = [line for line in shard.lines if isinstance(line, CheckLine) and line.outcome == "cut-off"]
            found[shard.header.column.label] |= {line.check for line in lines}
    return {label: sorted(checks) for label, checks in sorted(found.items()) if checks}


def unfinished_lines(shards: Sequence[Shard], checks: Mapping[str, AnyCheck], settings: Settings) -> list[str]:
    """For each column how many checks the clock cut off, and a command that runs them alone."""
    lines: list[str] = []
    for label, ids in cut_off(shards).items():
        known = [checks[id] for id in ids if id in checks]
        lines.append(f"time was up on {label} before {len(ids)} checks were at their floors. To run just these:")
        lines.append("  " + shlex.join(["./kit", "pytest", *_column(label, settings), *map(_path, known)]))
    return lines


def _path(check: AnyCheck) -> str:
    return f"{check.module.replace('.', '/')}.py::{check.id.rpartition('.')[2]}"


def _column(label: str, settings: Settings) -> list[str]:
    """The options that name the column, the profile and the folder."""
    given = [("--kafka-image", settings.image), ("--kafka-home", settings.home)]
    own = [word for option, value in given if value for word in (option, value)]
    features = [word for name, level in settings.features.items() for word in ("--feature", f"{name}={level}")]
    return [
        *(own if "@" in label else ["--kafka-version", label.partition("+")[0]]),
        *features,
        "--conformance-profile", settings.profile,
        "--conformance-out", settings.out,
    ]  # fmt: skip
