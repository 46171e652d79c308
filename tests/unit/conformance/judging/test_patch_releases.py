"""GEN-07: what a patch offers beside the patch before it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.catalogue import shipped_rows
from conformance.judging.patch_releases import GONE, HIGHEST_VERSION, LOWEST_VERSION, ROW
from conformance.judging.pooling import judge_shards
from conformance.judging.verdicts import Cell
from history.shards import read_shard
from tests.support.sample_shards import ShardBuilder

OFFERED = {"Fetch": 17, "lowest.Fetch": 4, "controller.Vote": 1, "lowest.controller.Vote": 0, "metadata.version": 21}


@pytest.fixture
def cell(tmp_path: Any) -> Any:
    def judged(*columns: tuple[str, dict[str, int], dict[str, Any]]) -> Cell:
        """The cell of the last column."""
        shards = [
            ShardBuilder(f"s{n}", version, ranges=ranges, **header).finish().write(tmp_path)
            for n, (version, ranges, header) in enumerate(columns)
        ]
        label = columns[-1][2].get("label", columns[-1][0])
        cells = judge_shards(map(read_shard, shards))
        return next(one for one in cells if (one.requirement, one.kafka_version) == (ROW, label))

    return judged


def test_a_patch_that_offers_as_much_or_more_satisfies_it(cell: Any) -> None:
    more = OFFERED | {"Fetch": 18, "lowest.Fetch": 0, "Produce": 13, "lowest.Produce": 3, "metadata.version": 20}
    for ranges in (OFFERED, more):
        assert cell(("4.3.0", OFFERED, {}), ("4.3.1", ranges, {})).verdict == "satisfied"


@pytest.mark.parametrize(
    ("taken", "case"),
    [
        ({"Fetch": 16}, HIGHEST_VERSION),
        ({"controller.Vote": 0}, HIGHEST_VERSION),
        ({"lowest.Fetch": 5}, LOWEST_VERSION),
        ({"controller.Vote": None, "lowest.controller.Vote": None}, GONE),
    ],
)
def test_a_patch_that_takes_something_away_violates_it(cell: Any, taken: dict[str, int | None], case: str) -> None:
    less = {name: level for name, level in (OFFERED | taken).items() if level is not None}
    found = cell(("4.3.0", OFFERED, {}), ("4.3.1", less, {}))
    assert found.verdict == "violated"
    assert [name for name, tally in found.cases.items() if tally.violated] == [case]


def test_the_patch_before_it_is_the_newest_older_one(cell: Any) -> None:
    less = OFFERED | {"Fetch": 16}
    assert cell(("3.9.0", OFFERED, {}), ("3.9.1", less, {}), ("3.9.2", less, {})).verdict == "satisfied"


@pytest.mark.parametrize(
    "beside",
    [
        ("4.2.2", OFFERED, {}),
        ("4.3.2", OFFERED, {}),
        ("4.3.0", OFFERED, {"label": "4.3.0@mine"}),
        ("4.3.0", OFFERED, {"label": "4.3.0+group.version=1"}),
        ("4.3.0", OFFERED, {"topology": "another"}),
        ("4.3.0", {}, {}),
    ],
    ids=["another minor", "a newer patch", "a user's build", "other features", "another cluster", "never came up"],
)
def test_what_is_not_the_patch_before_it_says_nothing(
    cell: Any, beside: tuple[str, dict[str, int], dict[str, Any]]
) -> None:
    assert cell(beside, ("4.3.1", OFFERED | {"Fetch": 16}, {})).verdict == "not-run"


def test_its_cases_are_those_of_the_row() -> None:
    assert {case.id for case in shipped_rows()[ROW].cases} == {GONE, HIGHEST_VERSION, LOWEST_VERSION}
