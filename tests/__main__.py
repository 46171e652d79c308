"""`python -m tests [options of pytest]`: the kit's own tests, in two parts, and the coverage of the first.

The engine and the images are made ready while the first part runs, and not at all to list tests, or for tests of units.

What needs no engine, no Spark, no browser and no release's jar runs everywhere, so its coverage is the same everywhere: it is
measured, shown by package, and may not fall below `fail_under` in pyproject.toml. The second part is what needs them, and what
draws hundreds of schedules, which takes far longer when measured; its brokers wait more than they work, so a third worker fits
on two cores. With options pytest runs once, with those, and nothing is measured.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import coverage
import pytest

from fixtures.signals import interruptible
from history.exit_codes import EXIT_INTERRUPTED, EXIT_WRONG_USE, WRONG_USE_OF_PYTEST

ROOT = Path(__file__).parent.parent
MEASURED = "not docker and not spark and not browser and not drawn and not jars"
UNMEASURED = "docker or spark or browser or drawn or jars"
ADDOPTS = "addopts=--import-mode=importlib --strict-markers --strict-config -ra"
"""Without the plugin of the matrix, which imports what is measured before it is measured; blocking it comes too late."""
# Files in their order: the longest ones, of brokers, begin early, and no worker has one left for the end.
# A worker that dies ends the part: another would run its last test again, and die of it too.
TOGETHER = (
    "-o", ADDOPTS, "--dist", "loadfile", "--no-loadscope-reorder", "--max-worker-restart", "0", "--durations", "12",
)  # fmt: skip
LISTING = frozenset({"-h", "--help", "--version", "--collect-only", "--co", "--markers", "--fixtures", "--cache-show"})
"""Options of pytest with which nothing is run."""
CODES: dict[int, int] = {
    pytest.ExitCode.INTERRUPTED: EXIT_INTERRUPTED,
    **dict.fromkeys(WRONG_USE_OF_PYTEST, EXIT_WRONG_USE),
}
"""Those of pytest, where the kit has others."""
DEPTH = 2
"""Folders that a line of the table stands for."""


class Package(NamedTuple):
    """Statements, and how many of them were run."""

    statements: int
    run: int

    @property
    def percent(self) -> float:
        return 100 * self.run / self.statements if self.statements else 100.0

    def __add__(self, other: object) -> Package:
        assert isinstance(other, Package)
        return Package(self.statements + other.statements, self.run + other.run)


def main(options: Sequence[str]) -> int:
    """The exit code of the first part of pytest that is not fine; else 1 if the coverage fell, else 0; 130 if interrupted."""
    try:
        return _run(options)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _run(options: Sequence[str]) -> int:
    if options and not needs_engine(options):
        return _pytest(*(() if LISTING & set(options) else ("-n", "2")), *options)
    with _started("tests.provisioning") as provisioning:
        try:
            if options:
                return _ended(provisioning) or _pytest("-n", "2", *options)
            measured = _pytest("-n", "2", "-m", MEASURED, "--cov", "--cov-report=", "--cov-fail-under=0")
            holds = _holds()
            return measured or _ended(provisioning) or _pytest("-n", "3", "-m", UNMEASURED) or int(not holds)
        finally:
            provisioning.terminate()


def needs_engine(options: Sequence[str]) -> bool:
    """True if a test may run that is no unit test; those need no engine (tests/unit/test_mirror.py)."""
    if LISTING & set(options) or any("not docker" in option for option in options):
        return False
    named, tests, units = places(options), ROOT / "tests", ROOT / "tests" / "unit"
    own = [place for place in named if place.is_relative_to(tests) or tests.is_relative_to(place)]
    return not named or not all(place.is_relative_to(units) for place in own)


def places(options: Sequence[str]) -> list[Path]:
    """Files and folders that the options name."""
    return [place for option in options if (place := ROOT / option.partition("::")[0]).exists()]


def _pytest(*options: str) -> int:
    with _started("pytest", *TOGETHER, *([] if places(options) else ["tests"]), *options) as process:
        return _ended(process)


def _started(*module: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", *module], cwd=ROOT)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """The exit code, with those of pytest as the kit has them. Raises KeyboardInterrupt once the process has ended."""
    try:
        code = process.wait()
    except KeyboardInterrupt:
        # After SIGTERM only this process knows; pytest cleans up as after Ctrl-C.
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    return CODES.get(code, code)


def _holds() -> bool:
    """Print the coverage by package; whether it is what it has to be."""
    measured = coverage.Coverage(config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    packages = by_package(_files(measured))
    total = sum(packages.values(), Package(0, 0))
    print(table(packages, total))
    floor = float(str(measured.get_option("report:fail_under")))
    holds = total.percent >= floor
    print(
        f"coverage {total.percent:.2f} %, and {floor:g} % is the least{'' if holds else ': write the tests that are missing'}"
    )
    return holds


def _files(measured: coverage.Coverage) -> Iterable[tuple[str, Package]]:
    for file in sorted(measured.get_data().measured_files()):
        _, statements, _, missing, _ = measured.analysis2(file)
        yield str(Path(file).relative_to(ROOT)), Package(len(statements), len(statements) - len(missing))


def by_package(files: Iterable[tuple[str, Package]]) -> dict[str, Package]:
    """`files` are paths below the root."""
    found: dict[str, Package] = defaultdict(lambda: Package(0, 0))
    for path, counts in files:
        found["/".join(PurePath(path).parent.parts[:DEPTH])] += counts
    return dict(sorted(found.items()))


def table(packages: dict[str, Package], total: Package) -> str:
    rows = [*packages.items(), ("all", total)]
    lines = [f"{name:32} {one.statements:>10} {one.percent:>8.1f} %" for name, one in rows]
    return "\n".join([f"{'package':32} {'statements':>10} {'coverage':>10}", *lines])


if __name__ == "__main__":
    with interruptible():
        sys.exit(main(sys.argv[1:]))
