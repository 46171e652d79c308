"""A violation's evidence folder: enough for a bug report. It also lists what could not be collected."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.notice import what_a_user_notices
from conformance.catalogue.rows import RECORDED
from conformance.running.evidence.collectors import Collector, collectors_for, why_no_files
from conformance.running.evidence.course import course_text
from conformance.running.evidence.report import insert_replays, report_text
from conformance.running.evidence.violation import ViolationHistory, violation_history
from conformance.running.standing import Standing
from history.command import replay_command
from history.deeds import deeds_behind
from history.events import History
from history.observations import Observation
from history.schema import SCHEMA, decode
from history.shards import Column
from history.subjects import Subject
from history.violation import DISKS, VIOLATION, FiledViolation

if TYPE_CHECKING:
    from fixtures.cluster import KRaftCluster

SECONDS_BEFORE = 2.0
"""Seconds of logs and frames to include from before the example, since clocks differ and requests may have been in flight."""

NOT_KNOWN = "Not known: no entry of known-deviations.toml is about this row, version and schedule."
NO_PROMISE = "The row is only recorded: no release promises it, and nothing that differs from it counts as a violation."


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The input of `--replay`: a check, the row that it broke, and either a probe's case and inputs or a machine's steps."""

    schema: int = SCHEMA
    check: str
    column: Column
    topology: str = ""
    requirement: str = ""
    case: str = ""
    inputs: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of investigating a violation: the number of replays that saw it again, and the shrunk schedule."""

    seen: int = 0
    tries: int = 0
    note: str = ""
    schedule: list[dict[str, Any]] = []


def write_evidence(
    out: Path,
    standing: Standing,
    history: History,
    observation: Observation,
    seconds: float,
    deviations: Sequence[Deviation],
) -> str:
    """Write `evidence/<row>/<example>/` for an example that began `seconds` ago, and return its path relative to `out`. Matching
    known `deviations` explain what a user would notice.

    If the example breaks the row in another case as well, that breach has a folder of its own, with the case in its name.
    """
    relative = Path("evidence") / observation.requirement / history.example.example
    if (out / relative).exists():
        relative = relative.with_name(
            f"{relative.name}-{observation.case}{observation.label and '-'}{observation.label}"
        )
    folder = out / relative
    folder.mkdir(parents=True, exist_ok=True)
    replay = replay_command(standing.column.selection, str(folder / "schedule.json"))
    (folder / "replay.txt").write_text(replay + "\n")
    read = violation_history(standing.column, history, observation)
    _write_json(folder / "schedule.json", schedule_of(read, standing.cluster.topology.name))
    (folder / "history.jsonl").write_bytes(b"".join(_history_lines(history)))
    collected = _Collected(folder, standing.cluster, time.time() - seconds - SECONDS_BEFORE)
    collected.all(read.subjects)
    (folder / DISKS).write_text(collected.on_disk + "\n")
    (folder / "course.md").write_text(course_text(read))
    known = _matching_deviations(read, deviations)
    notices = [
        *what_a_user_notices(observation.requirement, known),
        *([] if known else [_why_unknown(observation.requirement)]),
    ]
    filed = FiledViolation(observation=observation, notices=notices, lacking=collected.lacking)
    _write_json(folder / VIOLATION, filed)
    (folder / "report.md").write_text(report_text(read, replay, collected.lacking, collected.on_disk, notices))
    return str(relative)


def _why_unknown(row: str) -> str:
    return NO_PROMISE if shipped_rows()[row].level in RECORDED else NOT_KNOWN


def _matching_deviations(read: ViolationHistory, deviations: Sequence[Deviation]) -> list[Deviation]:
    """Return the known deviations that match the violation."""
    seen, deeds = read.observation, deeds_behind(read.history, read.observation)
    about = [entry for entry in deviations if entry.covers(seen.requirement, read.column.version)]
    return [entry for entry in about if entry.explains(seen.case, seen.detail, deeds)]


def add_replays(folder: Path, replays: ReplayResult) -> None:
    """Add the results of shrinking and replays to the report.

    The schedule is kept even if no replay reproduced the violation.
    """
    counted = f"{replays.seen} of {replays.tries} replays. " if replays.tries else ""
    path, filed = folder / "report.md", folder / VIOLATION
    path.write_text(insert_replays(path.read_text(), counted + replays.note))
    violation = decode(filed.read_bytes(), FiledViolation, filed)
    _write_json(filed, msgspec.structs.replace(violation, seen_again=counted + replays.note))
    if replays.schedule and not replays.seen:
        whole = msgspec.json.decode((folder / "schedule.json").read_bytes(), type=Schedule)
        _write_json(folder / "shrunk.json", msgspec.structs.replace(whole, steps=replays.schedule))


def schedule_of(read: ViolationHistory, topology: str = "") -> Schedule:
    """Return the schedule that replays a violation."""
    example = read.history.example
    return Schedule(
        check=example.check,
        column=read.column,
        topology=topology,
        requirement=read.observation.requirement,
        case=example.case,
        inputs=example.inputs,
        steps=[step.step for step in read.steps],
    )


class _Collected:
    """The evidence from the cluster: the nodes' logs and frames since the example began, and files on disk."""

    def __init__(self, folder: Path, cluster: KRaftCluster, since: float) -> None:
        self.lacking: list[str] = []
        self.on_disk = ""
        self._folder = folder
        self._cluster = cluster
        self._since = since

    def all(self, about: Collection[Subject]) -> None:
        self._collect("the transcript", self._transcript)
        for name in self._cluster.nodes:
            self._collect(f"the log of {name}", partial(self._log, name))
        for collector, names in collectors_for(about).items():
            self._collect("the disks", partial(self._disks, collector, names))
        self.lacking += filter(None, [why_no_files(about)])

    def _collect(self, what: str, do: Callable[[], object]) -> None:
        """Collect one part of the evidence, or note that it is missing; a cluster in trouble may not provide it.

        The violation is recorded in any case, and its report lists the gaps.
        """
        try:
            do()
        except Exception as trouble:  # whatever the engine answers: the rest of the evidence must not be lost
            self.lacking.append(
                f"{what}: {type(trouble).__name__}: {str(trouble).splitlines()[0] if str(trouble) else ''}"
            )

    def _transcript(self) -> None:
        transcript, begins = self._cluster.transcript, int(self._since * 1e9)
        lines = [msgspec.json.encode(one) + b"\n" for one in transcript.entries(begins)]
        (self._folder / "transcript.jsonl").write_bytes(b"".join(lines))
        if transcript.forgotten_ns > begins:
            gone = transcript.forgotten_ns / 1e9 - self._since - SECONDS_BEFORE
            self.lacking.append(f"the frames of the first {gone:.0f} s: a transcript has a limited size")

    def _log(self, name: str) -> None:
        folder = self._folder / "logs"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.log").write_text(self._cluster.nodes[name].logs(since=self._since))

    def _disks(self, collector: Collector, names: Sequence[str]) -> None:
        found = collector(self._cluster, self._folder / "disk", names)
        self.on_disk = "\n".join(filter(None, [self.on_disk, *found.lines]))
        self.lacking += found.lacking


def _history_lines(history: History) -> list[bytes]:
    lines = [history.example, *history.events, *([history.end] if history.end else [])]
    return [msgspec.json.encode(line) + b"\n" for line in lines]


def _write_json(path: Path, value: Any) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2))
