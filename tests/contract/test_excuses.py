"""The contract of everything that judges forgive: it is registered, covers one history, and does not cover near ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import conformance
from conformance.judging.excuses import HOST_SLEPT, INAPPLICABLE, Evidence
from conformance.judging.registry import EVERY_EVIDENCE
from tests.contract.forgiven.census import CENSUS, PAGE, page
from tests.contract.forgiven.early_returns import NOTHING_TO_JUDGE, early_returns
from tests.contract.forgiven.entry import Near

ROOT = Path(conformance.__file__).parent
NO_JUDGES = {HOST_SLEPT, INAPPLICABLE}
"""Evidence that no judge gives: the histories that it covers, and near ones, are in the tests of `conformance.core.evaluate`."""
ENTRIES = [pytest.param(entry, id=entry.evidence.name) for entry in CENSUS.values()]


def test_names_are_unique() -> None:
    names = [one.name for one in EVERY_EVIDENCE]
    assert len(names) == len({*names})


def test_nothing_is_forgiven_by_evidence_that_is_not_registered() -> None:
    """The modules of the registry alone make evidence, so what a judge forgives by is one of their values."""
    made = [f"{path.relative_to(ROOT)}:{line}" for path in ROOT.rglob("*.py") for line in _makes(path)]
    assert {place.partition(":")[0] for place in made} == {
        "judging/excuses.py",
        "judging/groups/evidence.py",
        "judging/quorum/evidence.py",
    }


def _makes(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Evidence":
            yield node.lineno


def test_no_judge_returns_early_in_silence() -> None:
    """One that declines to judge yields an excuse, unless there is nothing to judge."""
    found = [*early_returns(ROOT / "judging")]
    silent = [f"{judge} in line {line}" for judge, line in found if judge not in NOTHING_TO_JUDGE]
    assert not silent, "yield an excuse of the registry, or say in early_returns.py why there is nothing to judge"
    assert NOTHING_TO_JUDGE.keys() == {judge for judge, _ in found}


def test_all_evidence_is_in_the_census() -> None:
    assert {*EVERY_EVIDENCE} - CENSUS.keys() == NO_JUDGES


@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in CENSUS])
def test_each_has_near_histories_of_the_kinds_that_it_could_wrongly_cover(one: Evidence) -> None:
    entry = CENSUS[one]
    for kind in ("before it began", "after it ended"):
        assert kind in entry.near or kind in entry.applies, f"{one} has no history {kind!r}, nor a reason why not"
    assert entry.near.keys() & {"another node", "another subject"} or "another subject" in entry.applies


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_covers_its_history(entry: Any) -> None:
    assert entry.is_forgiven(entry.covered)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [pytest.param(one, kind, id=f"{one.evidence}: {kind}") for one in CENSUS.values() for kind in one.near],
)
def test_it_does_not_cover_a_near_history(entry: Any, kind: Near) -> None:
    assert not entry.is_forgiven(entry.near[kind])
    assert entry.is_judged(entry.near[kind])


def test_the_page_of_the_census_is_up_to_date() -> None:
    assert (ROOT.parent / PAGE).read_text(encoding="utf-8").splitlines() == [*page()]
