"""The current activity of each worker, for display: one small file per worker, replaced as a whole at each change.

The files are next to the shards but not part of them; verdicts never depend on them.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from conformance.running.violations import breaks_its_row
from history.events import Phase
from history.observations import Observation


class ProgressCounts(msgspec.Struct, kw_only=True):
    """The progress of one column: `done` of `of` checks, observations, and violations by row."""

    done: int = 0
    of: int = 0
    observations: int = 0
    violated: dict[str, int] = {}


class WorkerProgress(msgspec.Struct, kw_only=True):
    """The progress of one worker: its current check, when that began (seconds since the epoch), and its results by column."""

    run: str
    worker: str
    label: str = ""
    check: str = ""
    faults: list[str] = []
    since: float = 0.0
    columns: dict[str, ProgressCounts] = {}


class Progress:
    """The file in which a worker reports its progress. An error never ends the run: if the file cannot be written, it stays as it
    is."""

    def __init__(self, folder: Path, run: str, worker: str) -> None:
        self.doing = WorkerProgress(run=run, worker=worker)
        self._path = folder / f"{run}-{worker}.json"
        self._draft = self._path.with_suffix(".draft")
        self._open: Counter[str] = Counter()
        self._gave_up = False
        self._lock = threading.RLock()  # threads may share a tape

    def note_total(self, checks: Mapping[str, int]) -> None:
        """Note how many checks all workers together will run, by column."""
        for label, count in checks.items():
            self._column(label).of = count
        self._write()

    def note_check(self, label: str, check: str) -> None:
        """Note the check that the worker begins."""
        self.doing.label, self.doing.check, self.doing.since = label, check, time.time()
        self._write()

    def note_example(self) -> None:
        """Note that an example begins, without standing faults."""
        if self._open:
            self._open.clear()
            self._write()

    def note_fault(self, fault: str, phase: Phase) -> None:
        """Note that a fault was injected or healed."""
        with self._lock:
            if phase == "inject":
                self._open[fault] += 1
            elif phase == "heal":
                self._open -= Counter([fault])
            self._write()

    def count_observations(self, label: str, observations: Sequence[Observation]) -> None:
        """Count an example's observations, and the rows that they violate."""
        column = self._column(label)
        column.observations += len(observations)
        for observation in observations:
            if breaks_its_row(observation):
                column.violated[observation.requirement] = column.violated.get(observation.requirement, 0) + 1
        self._write()

    def note_end(self) -> None:
        """Note that the current check has ended."""
        self._column(self.doing.label).done += 1
        self.doing.check = ""
        self._open.clear()
        self._write()

    def _column(self, label: str) -> ProgressCounts:
        return self.doing.columns.setdefault(label, ProgressCounts())

    def _write(self) -> None:
        if self._gave_up:
            return
        with self._lock:
            self.doing.faults = sorted(self._open)
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._draft.write_bytes(msgspec.json.encode(self.doing))
                os.replace(self._draft, self._path)
            except OSError as error:
                self._gave_up = True
                print(f"progress is not shown any more: {error}", flush=True)


class ColumnProgress(msgspec.Struct, kw_only=True):
    """The progress of one column over all workers: the sums, and the workers that run it now."""

    label: str
    so_far: ProgressCounts
    now: list[WorkerProgress]


def read_progress(out: Path, run: str) -> list[ColumnProgress]:
    """Return the progress of each column in a run, sorted by name; empty until the first worker has begun."""
    workers = [
        msgspec.json.decode(path.read_bytes(), type=WorkerProgress)
        for path in sorted((out / "progress").glob(f"{run}-*.json"))
    ]
    labels = sorted({label for doing in workers for label in doing.columns})
    return [_column_progress(label, workers) for label in labels]


def _column_progress(label: str, workers: Sequence[WorkerProgress]) -> ColumnProgress:
    parts = [doing.columns[label] for doing in workers if label in doing.columns]
    violated: Counter[str] = Counter()
    for part in parts:
        violated.update(part.violated)
    return ColumnProgress(
        label=label,
        so_far=ProgressCounts(
            done=sum(part.done for part in parts),
            of=max(part.of for part in parts),
            observations=sum(part.observations for part in parts),
            violated=dict(sorted(violated.items())),
        ),
        now=[doing for doing in workers if doing.label == label and doing.check],
    )
