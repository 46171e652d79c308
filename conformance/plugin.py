"""The pytest plugin: each probe becomes an item for each column; the controller sums up and sets the exit code."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from conformance.campaign.watching import PlainRunProgress, calling_repeatedly
from conformance.core.registry import AnyCheck, every_check, is_soak, topology_of
from conformance.core.topologies import adapt_topology
from conformance.running.planning.budget import SEARCH, Work, kind_of
from conformance.running.planning.watchdog import Watchdog
from conformance.running.session import ConformanceSession, Listing
from conformance.running.settings import add_options
from conformance.running.violations import violation_of
from fixtures.leases import workers
from fixtures.signals import interruptible
from history.command import INSTALLED
from protocol.errors import KitError

HERE = Path(__file__).parent
SESSION = pytest.StashKey[ConformanceSession]()
LISTING = pytest.StashKey[Listing]()
PRINT_ONLY_OPTIONS = ("help", "version", "markers", "showfixtures", "show_fixtures_per_test", "cacheshow")
"""The options of pytest with which it prints something and runs nothing."""
WATCHDOG = pytest.StashKey[Watchdog]()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    if INSTALLED and config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
        # In a checkout pytest takes the checks from its `testpaths` where no path is named.
        config.args[:] = [str(HERE)]
    if not _wants_checks(config):
        return
    if config.option.collectonly:
        config.stash[LISTING] = Listing(config)
        return
    workerinput = getattr(config, "workerinput", None)
    if not workerinput:
        # SIGTERM ends a run as Ctrl-C does: a cancelled job leaves no containers.
        ending = ExitStack()
        ending.enter_context(interruptible())
        config.add_cleanup(ending.close)
    config.stash[SESSION] = (
        ConformanceSession.of_worker(workerinput) if workerinput else ConformanceSession.begin(config)
    )


def _wants_checks(config: pytest.Config) -> bool:
    """True if the session may collect checks; only then it needs an engine, images and a run."""
    if any(getattr(config.option, name, None) for name in PRINT_ONLY_OPTIONS):
        return False
    places = [Path(arg.split("::")[0]).resolve() for arg in config.args]
    return any(place.is_relative_to(HERE) or HERE.is_relative_to(place) for place in places)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if SESSION in node.config.stash:
        node.workerinput["conformance"] = node.config.stash[SESSION].worker_data()


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Asked before the session begins. A number in xdist's own environment variable goes first."""
    return workers() if _wants_checks(config) and not os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") else None


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Unless the user asks for another distribution than xdist's own default."""
    if SESSION not in config.stash or config.getvalue("dist") != "load":
        return None
    from conformance.running.planning.scheduling import ByCluster

    settings = config.stash[SESSION].settings
    return ByCluster(config, log, timed=settings.is_timed, whole=settings.is_whole_profile)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return config.stash[SESSION].header() if SESSION in config.stash else []


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    listens = SESSION in parent.config.stash or LISTING in parent.config.stash
    if listens and _module(file_path) in {check.module for check in every_check().values()}:
        return CheckFile.from_parent(parent, path=file_path)
    return None


def _module(path: Path) -> str:
    """Return the dotted name of a file below this folder; empty for any other."""
    if not path.is_relative_to(HERE):
        return ""
    return ".".join(("conformance", *path.relative_to(HERE).with_suffix("").parts))


class CheckFile(pytest.File):
    """A module of checks."""

    def collect(self) -> Iterator[pytest.Item]:
        wanted = self.config.stash.get(SESSION, None) or self.config.stash[LISTING]
        module = _module(self.path)
        for check in every_check().values():
            if check.module == module and wanted.selects(check):
                for label in wanted.labels:
                    for part in range(1, wanted.parts(check) + 1):
                        name = item_name(check, label, part)
                        whole = wanted.settings.is_whole_profile
                        yield CheckItem.from_parent(self, name=name, check=check, label=label, part=part, whole=whole)


def item_name(check: AnyCheck, label: str, part: int) -> str:
    return f"{check.id.rpartition('.')[2]}[{label}{f' part {part}' if part > 1 else ''}]"


class CheckItem(pytest.Item):
    """One check, or a part of a machine, on one column."""

    def __init__(self, *, check: AnyCheck, label: str, part: int, whole: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check
        self.label = label
        self.part = part
        self.kind = kind_of(check, opens=whole and part == 1)

    @property
    def work(self) -> Work:
        """The item as a part of the run's plan."""
        return Work(check=self.check.id, label=self.label, kind=self.kind, part=self.part)

    @property
    def cluster(self) -> tuple[str, str]:
        """Its column and topology."""
        return self.label, adapt_topology(topology_of(self.check, self.part), self.label).name

    def runtest(self) -> None:
        run = self.config.stash[SESSION].run_check(self.check, self.work)
        self.user_properties.append(("requirements", " ".join(self.check.rows)))
        if run.violations:
            raise violation_of(run.violations)
        if run.trouble:
            raise KitError("\n".join(run.trouble))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{' '.join(self.check.rows)} {self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return str(excinfo.value)


class SearchItem(pytest.Item):
    """One worker's search for the rarest cases of a column, with the time that is left."""

    def __init__(self, *, label: str, part: int, checks: list[AnyCheck], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.label = label
        self.checks = checks
        self.work = Work(check=SEARCH, label=label, kind="rarest", part=part)

    def runtest(self) -> None:
        search = self.config.stash[SESSION].search(self.checks, self.work)
        if search.violations:
            raise violation_of(search.violations)
        if search.trouble:
            raise KitError("\n".join(search.trouble))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return str(excinfo.value)


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    checks = [item for item in items if isinstance(item, CheckItem)]
    if not checks or len(checks) < len(items):
        return
    running = session.config.stash.get(SESSION, None)
    items[:] = (running or session.config.stash[LISTING]).in_order(checks)
    items += [] if running is None else searches(session, checks, running.search_count)


def searches(session: pytest.Session, items: Sequence[CheckItem], workers: int) -> list[pytest.Item]:
    """One for each worker, for each column in turn. There is no time for a further soak."""
    labels = list(dict.fromkeys(item.label for item in items))
    checks = list({item.check.id: item.check for item in items if not is_soak(item.check)}.values())
    return [
        SearchItem.from_parent(
            session, name=f"{SEARCH}[{(label := labels[n % len(labels)])} part {n + 1}]", label=label, part=n + 1,
            checks=checks, nodeid=f"::{SEARCH}[{label} part {n + 1}]",
        )
        for n in range(workers)
    ]  # fmt: skip


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the checks to expect, also in a worker, which collects those of all workers."""
    if LISTING in session.config.stash:
        session.config.stash[LISTING].expects([item for item in session.items if isinstance(item, CheckItem)])
    if SESSION in session.config.stash:
        works = [item.work for item in session.items if isinstance(item, CheckItem | SearchItem)]
        session.config.stash[SESSION].expects(works)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """While checks run, the controller reports progress now and then (not with -q), and ends a run that hangs."""
    config = session.config
    if SESSION not in config.stash or hasattr(config, "workerinput") or config.option.collectonly:
        return (yield)
    config.stash[WATCHDOG] = Watchdog(config.stash[SESSION].longest_check_seconds)
    config.pluginmanager.register(Finished(config.stash[WATCHDOG]))
    with config.stash[WATCHDOG], _progress_shown_in(config):
        return (yield)


def _progress_shown_in(config: pytest.Config) -> AbstractContextManager[None]:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if config.option.verbose < 0 or terminal is None:
        return nullcontext()

    def say(line: str) -> None:
        terminal.ensure_newline()
        terminal.write_line(line)

    return calling_repeatedly(PlainRunProgress(*config.stash[SESSION].place, say).show)


class Finished:
    """Tells the watchdog of each item that has finished, in whichever worker."""

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._watchdog.note_finish()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
    """After the other plugins, whose trouble must not keep clusters up, and before the summary is printed."""
    try:
        return (yield)
    finally:
        if SESSION in session.config.stash:
            watchdog = session.config.stash.get(WATCHDOG, None)
            session.exitstatus = session.config.stash[SESSION].finish(exitstatus, watchdog.barked if watchdog else "")
            if watchdog:
                watchdog.note_cleaned_up()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    lines = config.stash[SESSION].summary() if SESSION in config.stash else []
    if LISTING in config.stash:
        lines = list(config.stash[LISTING].forecast_lines(verbose=config.option.verbose > 0))
    for line in lines:
        terminalreporter.write_line(line)
