"""A campaign's progress: a live table on a terminal, else a line per column once a minute."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from conformance.campaign.column_runs import Runner
from conformance.campaign.plan import ColumnRun, Say
from conformance.running.recording.progress import ColumnProgress, ProgressCounts, WorkerProgress, read_progress

LINE_SECONDS = 60.0
"""Seconds between two lines of a column if there is no terminal."""

_ENDS = {0: "satisfied", 1: "violated", 2: "wrong use", 3: "trouble", 130: "interrupted"}
"""A column's exit code in a word, until all columns are judged together."""


class ColumnState(msgspec.Struct, kw_only=True):
    """One column for display. `state` is waiting, running, or how it ended; `seconds` is its running time."""

    name: str
    state: str
    seconds: float
    so_far: ProgressCounts
    now: list[WorkerProgress] = []

    @property
    def has_ended(self) -> bool:
        return self.state not in ("waiting", "running")


def states_of(runner: Runner) -> list[ColumnState]:
    """Return each column's state, in the order of the plan."""
    return [_column_state(runner, column) for column in runner.plan.columns]


def _column_state(runner: Runner, column: ColumnRun) -> ColumnState:
    progress = read_progress(runner.out, column.run) if column.run else []
    if runner.is_running(column):
        state = "running"
    else:
        state = "waiting" if column.code is None else _ENDS.get(column.code, f"ended with {column.code}")
    return _state_in(column.name, state, runner.seconds_of(column), progress)


def _state_in(name: str, state: str, seconds: float, progress: Sequence[ColumnProgress]) -> ColumnState:
    """Return a column's state from its progress: one pytest process has one column, unless its options add more."""
    so_far = progress[0].so_far if progress else ProgressCounts()
    now = progress[0].now if progress and state == "running" else []
    return ColumnState(name=name, state=state, seconds=seconds, so_far=so_far, now=now)


# --- lines


class NewViolations:
    """The violated rows that were not reported yet. Rows of columns that ended before this command are not reported."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, str]] | None = None

    def new(self, columns: Sequence[ColumnState]) -> list[str]:
        """Return a line for each violated row not reported yet."""
        found = [(column.name, row) for column in columns for row in column.so_far.violated]
        if self._reported is None:
            before = {column.name for column in columns if column.has_ended}
            self._reported = {one for one in found if one[0] in before}
        news = [one for one in found if one not in self._reported]
        self._reported.update(news)
        return [f"{name}  violated: {row}" for name, row in news]


class ProgressLines:
    """A printer of progress: each running column gets a line every `every` seconds, and one when it ends. A newly violated row
    gets a line at once."""

    def __init__(self, say: Say, every: float = LINE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._every = every
        self._clock = clock
        self._last: dict[str, float] = {}
        self._violated = NewViolations()
        self._ended: set[str] = set()

    def show(self, columns: Sequence[ColumnState]) -> None:
        for line in self._violated.new(columns):
            self._say(line)
        for column in columns:
            if column.has_ended and column.name not in self._ended:
                self._ended.add(column.name)
                self._say(line_of(column))
            elif column.state == "running" and self._is_time(column.name):
                self._say(line_of(column))

    def _is_time(self, name: str) -> bool:
        """True if an interval has passed since the column's last line; the first line comes after one interval."""
        now = self._clock()
        if now - self._last.setdefault(name, now) < self._every:
            return False
        self._last[name] = now
        return True


def line_of(column: ColumnState) -> str:
    """Return one line about a column."""
    parts = [
        f"{column.name}  {column.state}  {minutes_text(column.seconds)}",
        f"{column.so_far.done} of {column.so_far.of} checks",
        f"{column.so_far.observations} observations",
        f"{len(column.so_far.violated)} rows violated",
        *map(worker_text, column.now),
    ]
    return ", ".join(parts)


def worker_text(doing: WorkerProgress) -> str:
    """Return a worker's current check, with its standing faults."""
    faults = f" under {', '.join(doing.faults)}" if doing.faults else ""
    return f"{doing.worker} {doing.check.rpartition('.')[2]}{faults}"


def minutes_text(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


# --- a table


def table_of(columns: Sequence[ColumnState]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("column", "", "time", "checks", "observations", "violated", "now"):
        table.add_column(head, justify="left" if head in ("column", "", "now") else "right")
    for column in columns:
        table.add_row(*_column_cells(column), style="dim" if column.state == "waiting" else "")
    return table


def _column_cells(column: ColumnState) -> list[str]:
    if column.state == "waiting":
        return [escape(column.name), column.state, "", "", "", "", ""]
    so_far = column.so_far
    now = "\n".join(f"{worker_text(doing)} {minutes_text(time.time() - doing.since)}" for doing in column.now)
    return [
        escape(column.name),
        column.state,
        minutes_text(column.seconds),
        f"{so_far.done}/{so_far.of}",
        str(so_far.observations),
        str(len(so_far.violated)),
        escape(now),
    ]


@contextmanager
def watching(say: Say, console: Console | None = None) -> Iterator[Callable[[Runner], None]]:
    """Yield a function that a runner calls repeatedly while it runs."""
    console = console or Console()
    if not console.is_terminal:
        lines = ProgressLines(say)
        yield lambda runner: lines.show(states_of(runner))
        return
    violated = NewViolations()
    with Live(console=console, auto_refresh=False) as live:

        def draw(runner: Runner) -> None:
            columns = states_of(runner)
            for line in violated.new(columns):  # above the table, where they stay
                console.print(line, markup=False, highlight=False)
            live.update(table_of(columns), refresh=True)

        yield draw


# --- a plain pytest's


@contextmanager
def calling_repeatedly(show: Callable[[], None], every: float = 5.0) -> Iterator[None]:
    """Call `show` every `every` seconds within the block, on its own thread, since pytest has the main thread."""
    over = threading.Event()

    def until_over() -> None:
        while not over.wait(every):
            show()

    thread = threading.Thread(target=until_over, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class PlainRunProgress:
    """The progress of a plain pytest, in the same lines; without a plan, all its columns run from the start."""

    def __init__(self, out: Path, run: str, say: Say, every: float = LINE_SECONDS) -> None:
        self._out = out
        self._run = run
        self._lines = ProgressLines(say, every)
        self._began = time.monotonic()

    def show(self) -> None:
        seconds_of = time.monotonic() - self._began
        self._lines.show(
            [_state_in(column.label, "running", seconds_of, [column]) for column in read_progress(self._out, self._run)]
        )
