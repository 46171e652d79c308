"""The pytest plugin: each probe becomes an item for each column; the controller sums up and sets the exit code."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.campaign.watching import RunShown, again_and_again
from conformance.catalogue import shipped
from conformance.core.checks import Check
from conformance.core.machines import MachineCheck
from conformance.core.registry import AnyCheck, every_check
from conformance.core.topologies import fitted
from conformance.running.session import ConformanceSession, Listing
from conformance.running.settings import add_options
from conformance.running.violations import violation_of
from fixtures.errors import KitError
from fixtures.leases import workers

HERE = Path(__file__).parent
SESSION = pytest.StashKey[ConformanceSession]()
LISTING = pytest.StashKey[Listing]()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    if not _wants_checks(config):
        return
    if config.option.collectonly:
        config.stash[LISTING] = Listing(config)
        return
    workerinput = getattr(config, "workerinput", None)
    config.stash[SESSION] = (
        ConformanceSession.of_worker(workerinput) if workerinput else ConformanceSession.begin(config)
    )


def _wants_checks(config: pytest.Config) -> bool:
    """Only a session that may collect checks needs an engine, images and a run."""
    if config.option.help:
        return False
    places = [Path(arg.split("::")[0]).resolve() for arg in config.args]
    return any(place.is_relative_to(HERE) or HERE.is_relative_to(place) for place in places)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if SESSION in node.config.stash:
        node.workerinput["conformance"] = node.config.stash[SESSION].for_worker()


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Asked before the session begins. A number in xdist's own environment variable goes first."""
    return workers() if _wants_checks(config) and not os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") else None


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Unless the user asks for another distribution than xdist's own default."""
    if SESSION not in config.stash or config.getvalue("dist") != "load":
        return None
    from conformance.running.scheduling import ByCluster

    return ByCluster(config, log)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return config.stash[SESSION].header() if SESSION in config.stash else []


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    listens = SESSION in parent.config.stash or LISTING in parent.config.stash
    if listens and _module(file_path) in {check.module for check in every_check().values()}:
        return CheckFile.from_parent(parent, path=file_path)
    return None


def _module(path: Path) -> str:
    """The dotted name of a file below this folder; empty for any other."""
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
                        yield CheckItem.from_parent(
                            self, name=item_name(check, label, part), check=check, label=label, part=part
                        )


def item_name(check: AnyCheck, label: str, part: int) -> str:
    return f"{check.id.rpartition('.')[2]}[{label}{f' part {part}' if part > 1 else ''}]"


class CheckItem(pytest.Item):
    """One check, or a part of a machine, on one column."""

    def __init__(self, *, check: AnyCheck, label: str, part: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check
        self.label = label
        self.part = part

    @property
    def order(self) -> tuple[Any, ...]:
        """Checks of one cluster stand together, since changing it costs a boot; what time cuts off is of low priority.

        Machines come last: they take whatever time there is.
        """
        priority = min(shipped()[row].priority for row in self.check.rows)
        machine, cluster = isinstance(self.check, MachineCheck), fitted(self.check.topology, self.label).name
        early = isinstance(self.check, Check) and self.check.run_first
        return machine, self.part, self.label, cluster, not early, priority, self.check.id

    def runtest(self) -> None:
        run = self.config.stash[SESSION].run_check(self.check, self.label, self.part)
        self.user_properties.append(("requirements", " ".join(self.check.rows)))
        if run.violations:
            raise violation_of(run.violations)
        if run.trouble:
            raise KitError("\n".join(run.trouble))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{' '.join(self.check.rows)} {self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return str(excinfo.value)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if items and all(isinstance(item, CheckItem) for item in items):
        items.sort(key=lambda item: item.order if isinstance(item, CheckItem) else ())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Also in a worker, which collects what all workers together run."""
    if SESSION in session.config.stash:
        labels = Counter(item.label for item in session.items if isinstance(item, CheckItem))
        session.config.stash[SESSION].expects(labels)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """While checks run, the controller tells now and then how far they are; not with -q."""
    config = session.config
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if SESSION not in config.stash or hasattr(config, "workerinput") or config.option.verbose < 0 or terminal is None:
        return (yield)

    def say(line: str) -> None:
        terminal.ensure_newline()
        terminal.write_line(line)

    with again_and_again(RunShown(*config.stash[SESSION].place, say).show):
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if SESSION in session.config.stash:
        session.exitstatus = session.config.stash[SESSION].finish(exitstatus)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if SESSION in config.stash:
        for line in config.stash[SESSION].summary():
            terminalreporter.write_line(line)
