"""Progress of a run: from its workers, in lines, and in a table."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from conformance.campaign.column_runs import Runner
from conformance.campaign.plan import column_runs_for, new_plan
from conformance.campaign.watching import (
    ColumnState,
    PlainRunProgress,
    ProgressLines,
    calling_repeatedly,
    states_of,
    table_of,
    watching,
)
from conformance.core.bench import Bench
from conformance.core.checks import Claims, held_if
from conformance.running.columns import wanted_columns
from conformance.running.probe.run import ProbeRun
from conformance.running.recording.progress import Progress, ProgressCounts, WorkerProgress, read_progress
from fixtures.runs import Run, kept_notes
from history.observations import Observation
from tests.support.fake_checks import ROW, TOPIC, check_of
from tests.support.fake_cluster import TOPOLOGY
from tests.support.fake_faults import Recorded
from tests.support.fake_lab import FakeLab


def seen(row: str, result: str = "held") -> Observation:
    return Observation(requirement=row, case="consumer", result=result, example="e", events=[])  # type: ignore[arg-type]


def violating(label: str, row: str) -> Callable[[Progress], None]:
    return lambda progress: progress.count_observations(label, [seen(row, "violated")])


@pytest.fixture
def run(state: Path) -> Iterator[Run]:
    with Run.begin() as run:
        yield run


# --- a worker


def test_a_worker_tells_its_check_its_fault_and_what_it_brought(tmp_path: Path, run: Run) -> None:
    shown: list[tuple[str, list[str]]] = []

    def looks(bench: Bench) -> Claims:
        """Looks at its own progress."""

        def look() -> None:
            [column] = read_progress(tmp_path, run.id)
            shown.extend((doing.check, doing.faults) for doing in column.now)

        look()
        with bench.faults(TOPIC).standing_fault(Recorded()):
            look()
        look()
        yield held_if(False)

    lab = FakeLab(tmp_path, run, [[]], "smoke")
    check = check_of(looks)
    lab.progress.note_total({"4.3.1": 3})
    lab.progress.note_check("4.3.1", check.id)
    ProbeRun(check, lab, "4.3.1").run()
    assert shown[:3] == [(check.id, []), (check.id, ["recorded"]), (check.id, [])]
    [column] = read_progress(tmp_path, run.id)
    tries = column.so_far.observations
    assert tries > 0
    assert column.so_far == ProgressCounts(done=0, of=3, observations=tries, violated={ROW: tries})
    lab.progress.note_end()
    [column] = read_progress(tmp_path, run.id)
    assert (column.so_far.done, column.now) == (1, [])
    lab.close()


def test_workers_of_a_column_are_summed_and_columns_and_runs_kept_apart(tmp_path: Path) -> None:
    for worker, row in (("gw0", "A-1"), ("gw1", "A-2")):
        progress = Progress(tmp_path / "progress", "r1", worker)
        progress.note_total({"3.9.2": 7, "4.3.1": 5})
        progress.note_check("4.3.1", "some.check")
        progress.count_observations("4.3.1", [seen(row, "violated"), seen("A-2", "violated"), seen(row)])
        progress.note_end()
    Progress(tmp_path / "progress", "r2", "gw0").note_check("4.3.1", "other")
    old, new = read_progress(tmp_path, "r1")
    assert (old.label, old.so_far) == ("3.9.2", ProgressCounts(of=7))
    assert new.so_far == ProgressCounts(done=2, of=5, observations=6, violated={"A-1": 1, "A-2": 3})
    assert read_progress(tmp_path, "r3") == []


def test_a_row_of_a_recorded_level_is_not_listed_as_violated(tmp_path: Path) -> None:
    progress = Progress(tmp_path / "progress", "r1", "gw0")
    progress.count_observations("4.3.1", [seen("KIP1251-BASE-07", "violated")])
    [column] = read_progress(tmp_path, "r1")
    assert column.so_far == ProgressCounts(observations=1)


def test_a_fault_of_the_last_example_is_not_told_of_the_next(tmp_path: Path) -> None:
    progress = Progress(tmp_path / "progress", "r1", "gw0")
    progress.note_check("4.3.1", "some.check")
    progress.note_fault("kill", "inject")
    progress.note_fault("kill", "witness")
    assert progress.doing.faults == ["kill"]
    progress.note_example()
    assert progress.doing.faults == []


def test_a_run_goes_on_where_progress_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "progress").touch()
    progress = Progress(tmp_path / "progress", "r1", "gw0")
    progress.note_check("4.3.1", "some.check")
    progress.note_end()
    assert capsys.readouterr().out.count("progress is not shown any more") == 1


def test_a_cluster_that_is_kept_is_told_with_how_to_remove_it(tmp_path: Path, run: Run) -> None:
    lab = FakeLab(tmp_path, run, [[]], "smoke")
    lab.standing_cluster("4.3.1", TOPOLOGY)
    for _ in range(2):
        lab.keep()
    lab.close()
    [line] = kept_notes(run.id)
    assert f"broker-1 at 127.0.0.1:30001. To remove it: ./kit sweep {run.id}" in line
    assert not lab.kept[0].closed  # type: ignore[attr-defined]


# --- lines


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def column(name: str, state: str = "running", **so_far: Any) -> ColumnState:
    now = (
        [WorkerProgress(run="r1", worker="gw0", label=name, check="kip.check", faults=["kill"])]
        if state == "running"
        else []
    )
    return ColumnState(name=name, state=state, seconds=751.2, so_far=ProgressCounts(**so_far), now=now)


def test_a_running_column_has_a_line_a_minute_and_none_before() -> None:
    printed: list[str] = []
    clock = Clock()
    lines = ProgressLines(printed.append, 60.0, clock)
    for second in range(0, 125, 5):
        clock.now = second
        lines.show([column("3.9.2", done=3, of=9, observations=40), column("4.3.1", "waiting")])
    assert (
        printed == ["3.9.2  running  12:31, 3 of 9 checks, 40 observations, 0 rows violated, gw0 check under kill"] * 2
    )


def test_a_violated_row_and_an_ended_column_are_told_at_once_and_once() -> None:
    printed: list[str] = []
    lines = ProgressLines(printed.append, 60.0, Clock())
    for _ in range(3):
        lines.show([column("3.9.2", violated={"A-1": 2}), column("4.3.1", violated={"A-1": 1})])
    assert printed == ["3.9.2  violated: A-1", "4.3.1  violated: A-1"]
    for _ in range(2):
        lines.show([column("3.9.2", violated={"A-1": 3, "A-2": 1}), column("4.3.1", "trouble", violated={"A-1": 1})])
    assert printed[2:] == [
        "3.9.2  violated: A-2",
        "4.3.1  trouble  12:31, 0 of 0 checks, 0 observations, 1 rows violated",
    ]


def test_of_a_column_that_ended_before_only_its_end_is_reported() -> None:
    printed: list[str] = []
    lines = ProgressLines(printed.append, 60.0, Clock())
    for _ in range(2):
        lines.show([column("3.9.2", "violated", violated={"A-1": 2}), column("4.3.1", violated={"A-1": 1})])
    assert printed == [
        "4.3.1  violated: A-1",
        "3.9.2  violated  12:31, 0 of 0 checks, 0 observations, 1 rows violated",
    ]


# --- a table


def drawn(columns: list[ColumnState]) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(table_of(columns))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_the_table_shows_each_column_and_who_is_at_it() -> None:
    text = drawn(
        [
            column("3.9.2", "violated", done=9, of=9, observations=40, violated={"A-1": 1}),
            column("4.3.1@[red]mine", done=3, of=9, observations=7),
            column("4.4.0", "waiting"),
        ]
    )
    ended, running, waiting = text.splitlines()[1:]
    assert ended.split() == ["3.9.2", "violated", "12:31", "9/9", "40", "1"]
    assert running.split()[:5] == ["4.3.1@[red]mine", "running", "12:31", "3/9", "7"]
    assert "gw0 check under kill" in running
    assert waiting.split() == ["4.4.0", "waiting"]


def test_on_a_terminal_rows_newly_violated_stay_above_the_table(tmp_path: Path) -> None:
    plan = new_plan(column_runs_for(wanted_columns(["3.9.2", "4.3.1"])), [])
    plan.columns[0].run = "r1"
    violating("3.9.2", "A-1")(Progress(tmp_path / "progress", "r1", "gw0"))
    runner = Runner(tmp_path, plan, at_once=1, workers=1)
    file = io.StringIO()
    with watching(lambda line: None, Console(file=file, force_terminal=True, width=100)) as watch:
        for _ in range(3):
            watch(runner)
    assert file.getvalue().count("3.9.2  violated: A-1\n") == 1
    assert "waiting" in file.getvalue()


def test_the_state_of_a_column_is_what_its_code_says(tmp_path: Path) -> None:
    plan = new_plan(column_runs_for(wanted_columns(["3.8.1", "3.9.2", "4.3.1", "4.4.0"])), [])
    for column, code in zip(plan.columns, (None, 0, 1, -9), strict=True):
        column.code = code
    shown = states_of(Runner(tmp_path, plan, at_once=1, workers=1))
    assert [one.state for one in shown] == ["waiting", "satisfied", "violated", "ended with -9"]
    assert [one.has_ended for one in shown] == [False, True, True, True]


# --- a plain pytest


def test_a_plain_run_has_the_same_lines(tmp_path: Path) -> None:
    printed: list[str] = []
    shown = PlainRunProgress(tmp_path, "r1", printed.append, every=0.0)
    shown.show()
    assert printed == []
    progress = Progress(tmp_path / "progress", "r1", "gw0")
    progress.note_total({"4.3.1": 5})
    progress.note_check("4.3.1", "some.check")
    progress.count_observations("4.3.1", [seen("A-1", "violated")])
    shown.show()
    assert printed[0] == "4.3.1  violated: A-1"
    assert printed[1].endswith("0 of 5 checks, 1 observations, 1 rows violated, gw0 check")


def test_calling_repeatedly_ends_with_the_run() -> None:
    shown = threading.Semaphore(0)
    with calling_repeatedly(shown.release, every=0.001):
        assert shown.acquire(timeout=10)
        assert shown.acquire(timeout=10)
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_what_a_worker_writes_is_small() -> None:
    doing = WorkerProgress(
        run="r" * 18, worker="gw0", check="c" * 80, columns={"4.3.1": ProgressCounts(violated=dict.fromkeys("abc", 1))}
    )
    assert len(msgspec.json.encode(doing)) < 1000
