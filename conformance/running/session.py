"""A session of checks, in pytest's controller and in its workers."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.catalogue.deviations import load_deviations
from conformance.catalogue.near import similar_rows
from conformance.core import registry
from conformance.core.machines import AnyMachine, MachineCheck, all_machines
from conformance.core.profiles import MINUTES
from conformance.judging import patch_releases
from conformance.judging.news import ColumnNews, explained_cases
from conformance.judging.pooling import judge_shards, verdict_lines
from conformance.judging.verdicts import Cell
from conformance.running.baseline import Baseline, news_lines, news_since, profiles_of, read_baseline
from conformance.running.check_run import CheckRun
from conformance.running.columns import Overrides, WantedColumn, wanted_columns
from conformance.running.evidence.folder import Schedule
from conformance.running.lab import Lab
from conformance.running.machine.beginning import Beginning, read_beginning
from conformance.running.machine.investigator import REPLAYS
from conformance.running.machine.reach import reach_lines
from conformance.running.machine.run import MachineRun
from conformance.running.planning import budget
from conformance.running.planning.costs import cost_deviation_lines, shipped_costs
from conformance.running.planning.forecast import Item, ScheduledItem, forecast, plan_lines, sum_lines
from conformance.running.planning.ordering import RunItem, SomePlanned, has_ample_time, sort_items
from conformance.running.planning.scheduling import plan_units
from conformance.running.probe.run import ProbeRun
from conformance.running.provenance import provenance_of
from conformance.running.recording.spent import spent_lines
from conformance.running.recording.statistics import statistics_lines, totals_by_check
from conformance.running.recording.unfinished import unfinished_lines
from conformance.running.replay import ReplayRun, read_schedule
from conformance.running.search import Search
from conformance.running.settings import Settings, make_writable, read_settings
from fixtures.engine import ensure
from fixtures.errors import WrongUse
from fixtures.images import Image, check_home, newest_version, select_versions
from fixtures.leases import workers
from fixtures.runs import Run, kept_notes, sweep
from fixtures.spending import counted_in, spending
from history.command import COMMAND
from history.exit_codes import EXIT_TROUBLE, EXIT_WRONG_USE, WRONG_USE_OF_PYTEST, exit_code_of
from history.shards import Shard, read_shards
from protocol.errors import KitError

ALL_MACHINES = "all"


class ConformanceSession:
    """The settings, run and images of one pytest process. The controller begins and ends the session; workers join it."""

    def __init__(self, settings: Settings, run: Run, images: dict[str, Image], worker: str, workers: int = 1) -> None:
        self.settings = settings
        self.workers = workers
        self.run = run
        self.images = images
        self.worker = worker
        self._known = read_baseline(Path(settings.baseline)) if settings.baseline else Baseline()
        self._replay = read_schedule(Path(settings.replay)) if settings.replay else None
        self._beginning = read_beginning(Path(settings.beginning)) if settings.beginning else Beginning()
        self._lab: Lab | None = None
        self._cells: list[Cell] = []
        self._lines: list[str] = []
        self._expected: dict[str, int] = {}
        self._plan: budget.TimePlan | None = None

    @classmethod
    def begin(cls, config: pytest.Config) -> ConformanceSession:
        """Read the settings, sweep what dead runs left behind, and obtain the images. Ends pytest with 2 or 3 on failure."""
        settings, wanted = _read_settings(config)
        is_filtered = bool(config.getoption("keyword", "") or config.getoption("markexpr", ""))
        settings = msgspec.structs.replace(_with_time(settings, config), is_filtered=is_filtered)
        try:
            return cls._begin(settings, wanted)
        except WrongUse as error:
            raise pytest.exit.Exception(str(error), returncode=EXIT_WRONG_USE) from error
        except KitError as error:
            raise pytest.exit.Exception(str(error), returncode=EXIT_TROUBLE) from error

    @classmethod
    def _begin(cls, settings: Settings, wanted: Sequence[WantedColumn]) -> ConformanceSession:
        make_writable(settings.out_dir, "--conformance-out")
        client = ensure(install=False)
        sweep(client, _print_line)
        images, selections = dict[str, Image](), dict[str, list[str]]()
        for column in wanted:
            image = column.image(_print_line)
            label = _column_label(image.label, settings)
            _refuse_twice(label, image, images)
            images[label], selections[label] = image, [*column.selection, *settings.configuration]
        run = Run.begin(settings.run)
        began = time.time()
        settings = msgspec.structs.replace(
            settings, run=run.id, began=began, provenance=provenance_of(began), selections=selections
        )
        return cls(settings, run, images, "master")

    @classmethod
    def of_worker(cls, workerinput: dict[str, Any]) -> ConformanceSession:
        """Join the controller's session with the data that it passed to this worker."""
        given = workerinput["conformance"]
        settings = msgspec.convert(given["settings"], Settings)
        images = {
            label: msgspec.convert(image, Image, dec_hook=_revive_path) for label, image in given["images"].items()
        }
        return cls(settings, Run.join(settings.run), images, workerinput["workerid"], workerinput["workercount"])

    def worker_data(self) -> dict[str, Any]:
        """Return the data that a worker needs to join."""
        images = {label: msgspec.to_builtins(image, enc_hook=str) for label, image in self.images.items()}
        return {"settings": msgspec.to_builtins(self.settings), "images": images}

    # --- options

    @property
    def place(self) -> tuple[Path, str]:
        """The output directory of this run, and the run's id in file names."""
        return self.settings.out_dir, self.run.id

    @property
    def labels(self) -> list[str]:
        """The labels of the columns of this run."""
        return list(self.images)

    def selects(self, check: registry.AnyCheck) -> bool:
        return _selects_check(self.settings, self._replay, check)

    def header(self) -> list[str]:
        lines = [f"kafka: {label} ({image.reference}, {image.id[:19]})" for label, image in self.images.items()]
        return [*lines, f"conformance: profile {self.settings.profile}, seed {self.settings.seed}, run {self.run.id}"]

    # --- running

    @property
    def lab(self) -> Lab:
        """The lab of this worker, created at its first use."""
        if self._lab is None:
            self._lab = Lab(self.settings, self.run, self.worker, self.images, self._plan)
            self._lab.progress.note_total(self._expected)
        return self._lab

    def parts(self, check: registry.AnyCheck) -> int:
        return _count_parts(self.settings, self._replay, check, self.workers // len(self.images))

    @property
    def seconds(self) -> float:
        """The time of the whole run; 0 without a clock."""
        return 60 * (self.settings.minutes or MINUTES[self.settings.profile]) * len(self.images)

    @property
    def longest_check_seconds(self) -> float:
        """Seconds in which some check must finish: the time of the run, or that of a schedule's replays if it is longer, since
        these are one check."""
        return max(self.seconds, REPLAYS * REPLAY_TIMEOUT if self._replay is not None else 0.0)

    @property
    def search_count(self) -> int:
        """The number of workers that search for the rarest cases at the end; 0 if only machines run, since they use all the
        time."""
        return self.workers if self.settings.fills_its_time and not self.settings.machines else 0

    def expects(self, items: Sequence[budget.Work]) -> None:
        """Plan the time of the collected items, for all workers together."""
        self._expected = dict(Counter(work.label for work in items))
        self._plan = budget.plan_time(self.settings.profile, self.settings.minutes, items, self.workers)

    def in_order(self, items: Sequence[SomePlanned]) -> list[SomePlanned]:
        """Return the collected items in the order in which they begin."""
        return _in_order(self.settings, items, self.workers)

    def run_check(self, check: registry.AnyCheck, work: budget.Work) -> CheckRun:
        """Run a check, or one part of a machine, on one column."""
        run = self._run_of(check, work)
        self.lab.progress.note_check(work.label, check.id)
        self._do_timed(work, lambda: run.run(self.lab.allowance(work)))
        return run

    def search(self, checks: Sequence[registry.AnyCheck], work: budget.Work) -> Search:
        """Spend the remaining time on a column's rarest cases."""
        search = Search(self.lab, work.label, checks, work.part)
        self._do_timed(work, lambda: search.run(self.lab.allowance(work)))
        return search

    def _do_timed(self, work: budget.Work, do: Callable[[], None]) -> None:
        with counted_in(self.lab.ledger(work.label)), spending("act"):
            do()
        self.lab.progress.note_end()

    def _run_of(self, check: registry.AnyCheck, work: budget.Work) -> CheckRun:
        if self._replay is not None:
            return ReplayRun(check, self._replay, self.lab, work.label)
        if isinstance(check, MachineCheck):
            beginning = self._beginning.for_part(check, work.part, self.parts(check))
            only_opens = work.kind == "opening"
            return MachineRun(check, self.lab, work.label, work.part, beginning=beginning, only_opens=only_opens)
        return ProbeRun(check, self.lab, work.label)

    # --- the end

    def finish(self, exitstatus: int, hung: str = "") -> int:
        """Take everything down; the controller also sweeps the run and judges it. Returns the exit code.

        `hung` is why the watchdog ended the run, or empty.
        """
        early = "" if self.worker != "master" else _early_end(exitstatus, hung)
        if self._lab is not None or early:
            self.lab.close(early)
        if self.worker != "master":
            return exitstatus
        if not self.run.is_kept:
            self.run.end(ensure(install=False))
        shards = list(read_shards(self.settings.out_dir / "shards", self.run.id))
        self._cells = judge_shards(shards, run=self.run.id)
        # The replays of one schedule are not expected to reach anything else.
        reached_lines = (
            []
            if self._replay is not None
            else statistics_lines(totals_by_check(shards, self.run.id), registry.every_check())
        )
        news = self._news(shards)
        left = unfinished_lines(shards, registry.every_check(), self.settings.out_dir)
        self._lines = [
            *reached_lines,
            *reach_lines(self.settings.out_dir),
            *verdict_lines(self._cells),
            *news_lines(news, self._known),
            *spent_lines(shards),
            *([] if self._replay is not None else cost_deviation_lines(shards, _estimates(), shipped_costs())),
            *left,
            *([hung] if hung else []),
        ]
        if hung:
            exitstatus = pytest.ExitCode.INTERNAL_ERROR
        return exit_code(exitstatus, self._cells, news)

    def _news(self, shards: Sequence[Shard]) -> dict[str, ColumnNews]:
        deviations = load_deviations(shipped_rows(), *map(Path, self.settings.deviations)) if self._known.cells else []
        is_whole = self.settings.is_whole_profile and not self.settings.is_filtered
        profiles = profiles_of(shards) if is_whole else []
        return news_since(self._known, self._cells, explained_cases(shards, deviations), profiles)

    def summary(self) -> list[str]:
        """Return the end of the terminal output:

        the coverage of machines and schedules, the verdicts, the use of time, the checks that ran out of time, and the clusters
        kept on the engine.
        """
        return self._lines + kept_notes(self.run.id)


LONGEST_VALUE = 24
"""The maximum length of a setting's value in a column's name."""
REPLAY_TIMEOUT = 300.0
"""Seconds for a replay, including several waits for a cluster that does not become healthy again."""


class Listing:
    """The names of items that would run. `--collect-only` touches no engine. Ends pytest with 2 as a run would."""

    def __init__(self, config: pytest.Config) -> None:
        settings, wanted = _read_settings(config)
        self.settings = _with_time(settings, config)
        self._replay = read_schedule(Path(self.settings.replay)) if self.settings.replay else None
        self.labels = [_column_label(column.title, self.settings) for column in wanted]
        self._turns: list[ScheduledItem] = []
        self._workers = _workers_of(config)

    def selects(self, check: registry.AnyCheck) -> bool:
        return _selects_check(self.settings, self._replay, check)

    def parts(self, check: registry.AnyCheck) -> int:
        return _count_parts(self.settings, self._replay, check)

    def in_order(self, items: Sequence[SomePlanned]) -> list[SomePlanned]:
        """Return the collected items in the order in which they would begin."""
        return _in_order(self.settings, items, self._workers)

    def expects(self, items: Sequence[RunItem]) -> None:
        """Forecast the run of these items, in the order in which they were collected."""
        works = [item.work for item in items]
        units = plan_units(works, self._workers, timed=self.settings.is_timed)
        plan = budget.plan_time(self.settings.profile, self.settings.minutes, works, self._workers)
        planned = [
            Item(work=item.work, unit=unit, cluster=item.cluster) for item, unit in zip(items, units, strict=True)
        ]
        self._turns = forecast(planned, plan, self._workers)

    def forecast_lines(self, *, verbose: bool) -> Iterator[str]:
        """Yield how long the items would take; with `verbose` also when and on which worker each would begin."""
        yield from plan_lines(self._turns) if verbose else ()
        yield from sum_lines(self._turns, self._workers) if self._turns else ()


def _in_order(settings: Settings, items: Sequence[SomePlanned], workers: int) -> list[SomePlanned]:
    works = [item.work for item in items]
    seconds = budget.total_seconds(settings.profile, settings.minutes, works)
    return sort_items(items, timed=settings.is_timed, ample=not seconds or has_ample_time(works, seconds, workers))


def _workers_of(config: pytest.Config) -> int:
    """Return the number of workers in pytest's options; without any, the checks run in one process."""
    asked = config.getoption("numprocesses", None)
    return workers() if asked in ("auto", "logical") else max(1, int(asked or 1))


def exit_code(exitstatus: int, cells: Sequence[Cell], news: Mapping[str, ColumnNews]) -> int:
    """Combine pytest's exit code, the verdicts and the columns' news: 130, 2, 1, 3 or 0 (README, exit codes)."""
    verdicts = {cell.verdict for cell in cells}
    return exit_code_of(
        interrupted=exitstatus == pytest.ExitCode.INTERRUPTED,
        wrong_use=exitstatus in WRONG_USE_OF_PYTEST,
        violated=any(found.new for found in news.values()),
        troubled=exitstatus == pytest.ExitCode.INTERNAL_ERROR
        or "error" in verdicts
        or "satisfied" not in verdicts
        or any(found.too_little for found in news.values()),
    )


def _read_settings(config: pytest.Config) -> tuple[Settings, list[WantedColumn]]:
    """Read the settings and the columns that they name. Ends pytest with 2 for invalid requests."""
    try:
        settings = read_settings(config)
        _refuse_empty_globs(settings)
        for home in settings.homes:
            check_home(home)
        refuse_unknown_machines(settings.machines, "--conformance-machines")
        if settings.beginning:
            read_beginning(Path(settings.beginning))
        if settings.replay:
            read_schedule(Path(settings.replay))
        if settings.baseline:
            read_baseline(Path(settings.baseline))
        load_deviations(shipped_rows(), *map(Path, settings.deviations))
        overrides = Overrides(labels=settings.labels, judged_as=settings.judged_as, libs=settings.libs)
        return settings, wanted_columns(_versions_to_run(settings), settings.images, settings.homes, overrides)
    except (ValueError, KitError, CatalogueError) as error:
        raise pytest.exit.Exception(str(error), returncode=EXIT_WRONG_USE) from error


def _with_time(settings: Settings, config: pytest.Config) -> Settings:
    """Add whether the whole profile runs, and the time that it then has on these workers."""
    settings = msgspec.structs.replace(settings, whole=_is_whole(config))
    if settings.minutes or not settings.is_whole_profile:
        return settings
    return msgspec.structs.replace(settings, minutes=budget.whole_minutes(settings.profile, _workers_of(config)))


def _is_whole(config: pytest.Config) -> bool:
    """True if the command line has only whole folders or nothing, but no single file or check."""
    return all(Path(argument).is_dir() for argument in config.args)


def _estimates() -> dict[str, float]:
    """Return the estimated seconds of each check that was never measured."""
    return {id: budget.estimate_of(check) for id, check in registry.every_check().items()}


def _early_end(exitstatus: int, hung: str) -> str:
    """Return why a run ended before its work was done, for `history.shards.Footer`; empty if it did not."""
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        return "interrupted"
    return "hung" if hung else ""


def _column_label(name: str, settings: Settings) -> str:
    """Return a column's name, followed by its configuration: features, then settings."""
    configured = (*sorted(settings.features.items()), *sorted(settings.properties.items()))
    return name + "".join(f"+{key}={value[:LONGEST_VALUE]}" for key, value in configured)


def _refuse_twice(label: str, image: Image, others: dict[str, Image]) -> None:
    """Raise WrongUse for a second build of the same column."""
    if label in others and others[label].id != image.id:
        raise WrongUse(
            f"{image.reference} and {others[label].reference} are both called {label!r}, and two builds never share a column. "
            "Name one apart with --label COLUMN=NAME."
        )


def _selects_check(settings: Settings, replay: Schedule | None, check: registry.AnyCheck) -> bool:
    """True if the check runs: it is the schedule's, or it is a check of a selected row and fits the profile's time.

    Selecting a machine by name selects it in any profile, as a check of each row that its histories show.
    """
    if replay is not None:
        return check.id == replay.check
    if settings.machines and not _is_machine_of(settings, check):
        return False
    wanted = {row.id for row in shipped_rows().matching(settings.requirements)}
    if not settings.requirements:
        fits = bool(settings.machines) or registry.is_in_profile(check, settings.profile)
        return fits and bool(wanted.intersection(registry.rows_observed_by(check)))
    if registry.is_soak(check) and settings.profile != "nightly":
        return False
    if settings.all_that_see_it or settings.machines:
        return bool(wanted.intersection(registry.rows_observed_by(check)))
    return any(check.id in registry.own_checks().get(row, ()) for row in wanted)


def _is_machine_of(settings: Settings, check: registry.AnyCheck) -> bool:
    return isinstance(check, MachineCheck) and bool({ALL_MACHINES, machine_name(check)}.intersection(settings.machines))


def machine_name(check: AnyMachine) -> str:
    """Return a machine's name for users, which is its folder: `log` for `machines.log.LogMachine`."""
    return check.id.split(".")[-2]


def refuse_unknown_machines(names: Sequence[str], option: str) -> None:
    """Raise ValueError for a name that no machine has."""
    known = [ALL_MACHINES, *map(machine_name, all_machines().values())]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{option} {unknown[0]!r}: there is no such machine. Give one of {', '.join(known)}.")


def _count_parts(settings: Settings, replay: Schedule | None, check: registry.AnyCheck, workers: int = 1) -> int:
    """Return the number of parts in which a check runs; a schedule is replayed by one worker.

    If only machines run, they share a column's `workers`: each part has a worker from beginning to end.
    """
    if replay is not None or not isinstance(check, MachineCheck):
        return 1
    if settings.machines:
        machines = sum(_selects_check(settings, replay, one) for one in all_machines().values())
        return max(1, workers // max(1, machines))
    return (budget.WHOLE_PARTS if settings.is_whole_profile else budget.PARTS)[settings.profile]


def _versions_to_run(settings: Settings) -> tuple[str, ...]:
    """Return the released versions to run: the given ones, or the newest if neither version, image nor home is given."""
    own = settings.images or settings.homes
    return select_versions(settings.versions or [newest_version()]) if settings.versions or not own else ()


def _refuse_empty_globs(settings: Settings) -> None:
    """Raise an error for a glob that matches no row, or only rows without a check, since the run would look green."""
    rows = {row.id for row in shipped_rows().matching(settings.requirements)}
    asked = " ".join(settings.requirements)
    if not rows:
        raise ValueError(
            f"--requirement {asked!r}: the catalogue has no such row. {similar_rows(asked)} "
            "Globs are written as 'KIP320-FETCH-*'."
        )
    if rows == {patch_releases.ROW}:
        raise ValueError(
            f"--requirement {asked!r} compares columns in the merge, so there is nothing to run: `{COMMAND} matrix` judges it."
        )
    if not rows & registry.checks_by_row().keys():
        raise ValueError(
            f"--requirement {asked!r} is in the catalogue and has no check yet, so there is nothing to run: see "
            f"`{COMMAND} rows {shlex.quote(asked)}`."
        )


def _print_line(text: str) -> None:
    print(text, flush=True)


def _revive_path(kind: type, value: object) -> object:
    """Turn a path that was passed to a worker as text into a path again."""
    return kind(value)
