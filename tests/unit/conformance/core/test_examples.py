"""The examples in the docstrings of the modules that a writer of checks uses: each runs, on a cluster in memory."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from conformance.core import bench, checks, machines
from conformance.judging import judge
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


@pytest.mark.parametrize("module", [bench, checks, machines, judge], ids=lambda module: module.__name__)
def test_the_example_of_a_module_runs(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "REGISTRY", {})
    known = {**vars(module), "bench": mini_bench(MiniCluster())}
    [example] = doctest.DocTestFinder(recurse=False).find(module, globs=known)
    results = doctest.DocTestRunner().run(example)
    assert results.attempted
    assert not results.failed
