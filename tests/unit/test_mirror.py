"""The tests stand where the source stands, and each module with logic has a test that imports it."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = (
    "benchmarks",
    "conformance",
    "fixtures",
    "history",
    "kafka_conformance_kit",
    "mutants",
    "protocol",
    "reports",
    "strategies",
)

SEEN_OTHERWISE: dict[str, str] = {
    "*.__main__": "a door: it parses options and calls what is tested",
    "conformance.kip*": "checks: each has been seen to fail on a mutant, and runs in the matrix",
    "conformance.judging.*": "what judges read: their tests give them whole histories",
    "conformance.machines.*": "machines with their executors and models: tests/contract takes each from the registry",
    "conformance.rigs.*": "rigs need brokers; the checks on them run in the matrix, and their rows read the premise back",
    "conformance.submit.*": "a door for spark-submit",
    "conformance.cli.*": "commands, called as such by tests of `python -m conformance`",
    **dict.fromkeys(
        [
            f"fixtures.wire.{area}"
            for area in ("cluster", "configs", "controller", "groups", "log", "streams", "topics", "transactions")
        ],
        "typed calls: methods of NodeClient, which tests of clients and of the miniature make",
    ),
    "mutants.command": "commands, called as such by tests of `./kit mutants`",
    "benchmarks.*": "measurements, which assert nothing",
    "reports.commands.*": "commands, called as such by the tests of `python -m reports`",
}
"""Modules that need no test importing them, by pattern, and why."""


def modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


def has_logic(path: Path) -> bool:
    """True if the module defines a function or a method."""
    found = ast.walk(ast.parse(path.read_text()))
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in found)


@cache
def imported() -> frozenset[str]:
    """The modules that tests import, also by a name that a package passes on."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES:
                found.update(_origins(node))
    return frozenset(found)


def _origins(node: ast.ImportFrom) -> Iterator[str]:
    yield str(node.module)
    package = importlib.import_module(str(node.module))
    for alias in node.names:
        yield f"{node.module}.{alias.name}"
        yield str(getattr(getattr(package, alias.name, None), "__module__", ""))


def otherwise(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in SEEN_OTHERWISE)


def test_each_module_with_logic_has_a_test_that_imports_it() -> None:
    lacking = {name for name, path in modules() if has_logic(path) and name not in imported() and not otherwise(name)}
    assert lacking == set(), "modules without a test of their own"


def test_each_folder_of_source_is_a_package_that_import_linter_sees() -> None:
    assert {str(path.parent) for _, path in modules() if not (path.parent / "__init__.py").is_file()} == set()


@pytest.mark.parametrize("pattern", SEEN_OTHERWISE)
def test_each_exception_is_still_of_something(pattern: str) -> None:
    assert any(fnmatch(name, pattern) for name, _ in modules())


def test_tests_of_units_stand_where_their_source_stands() -> None:
    unit = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")} - {Path(), Path("tests")}
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder).is_dir()] == []


def test_units_need_no_engine() -> None:
    found = [
        path.name for path in (ROOT / "tests" / "unit").rglob("*.py") if "pytest.mark." + "docker" in path.read_text()
    ]
    assert found == []


def test_helpers_are_imported_from_support_and_never_from_a_module_of_tests() -> None:
    found = [
        f"{path.relative_to(ROOT)} imports {node.module}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[-1].startswith("test_")
    ]
    assert found == []
