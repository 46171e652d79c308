"""The evidence folder of a violation: enough for a bug report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.catalogue import shipped
from history.events import History, Note
from history.observations import Observation
from history.shards import Column

if TYPE_CHECKING:
    from fixtures.cluster import KRaftCluster

LOG_LINES = 400

SCHEDULE_NOTE = "schedule"
"""The note in which a machine leaves the steps that it drew."""


def write_evidence(out: Path, cluster: KRaftCluster, column: Column, history: History, observation: Observation) -> str:
    """Write `evidence/<row>/<example>/`; returns its path relative to `out`."""
    relative = Path("evidence") / observation.requirement / history.example.example
    folder = out / relative
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    replay = f"pytest --kafka-version {column.version} --replay {relative / 'schedule.json'}"
    if column.label != column.version:
        replay = f"pytest --kafka-image {column.image} --replay {relative / 'schedule.json'}"
    schedule = msgspec.json.encode(schedule_of(column, history))
    (folder / "schedule.json").write_bytes(msgspec.json.format(schedule, indent=2))
    (folder / "history.jsonl").write_bytes(b"".join(_lines(history)))
    (folder / "transcript.jsonl").write_bytes(
        b"".join(msgspec.json.encode(entry) + b"\n" for entry in cluster.transcript.entries())
    )
    (folder / "replay.txt").write_text(replay + "\n")
    for node in cluster.nodes.values():
        (folder / "logs" / f"{node.name}.log").write_text(node.logs(tail=LOG_LINES))
    (folder / "report.md").write_text(_report(column, history, observation, replay))
    return str(relative)


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """What `--replay` reads: the check, and a probe's case and inputs or a machine's steps."""

    check: str
    column: Column
    case: str = ""
    inputs: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []


def schedule_of(column: Column, history: History) -> Schedule:
    example = history.example
    notes = [event for event in history.events if isinstance(event, Note) and event.text == SCHEDULE_NOTE]
    steps = notes[-1].data["steps"] if notes else []
    return Schedule(check=example.check, column=column, case=example.case, inputs=example.inputs, steps=steps)


def _lines(history: History) -> list[bytes]:
    lines = [history.example, *history.events, *([history.end] if history.end else [])]
    return [msgspec.json.encode(line) + b"\n" for line in lines]


def _report(column: Column, history: History, observation: Observation, replay: str) -> str:
    row = shipped()[observation.requirement]
    shown = [msgspec.json.encode(e).decode() for e in history.events if e.n in observation.events]
    return "\n".join(
        [
            f"# {row.id}: {row.title}",
            "",
            f"Kafka {column.version} ({column.image}, {column.image_id})",
            "",
            f"> {row.statement.strip()}",
            "",
            f"Source: KIP-{row.kip}, {row.section} (level {row.level}). Case: {observation.case}.",
            "",
            "## What was seen",
            "",
            f"Inputs: `{observation.inputs or '{}'}`",
            "",
            "```",
            observation.detail,
            "```",
            "",
            "Events of the history that show it:",
            "",
            *[f"    {line}" for line in shown],
            "",
            "## How to see it again",
            "",
            f"    {replay}",
            "",
            "`history.jsonl` holds every request and answer, `transcript.jsonl` the frames in bytes and decoded,",
            "`logs/` the nodes' logs of the time.",
            "",
        ]
    )
