"""The list of all judges refuses by name what can judge no history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

import pytest

from conformance.judging.judge import Finding, Judge
from conformance.judging.judges import JUDGES, check_usable, rows_about
from conformance.judging.log.story import PartitionStory
from conformance.judging.story import Story
from history.subjects import Kind


class OddStory(Story):
    kind: ClassVar[Kind] = cast(Any, "shard")


def judges_nothing(_: Any) -> Iterator[Finding]:
    yield from ()


ROW = "KIP101-INV-05"
REFUSED = {
    "the catalogue has no row KIP101-INV-99": Judge("KIP101-INV-99", PartitionStory, judges_nothing),
    "it does not declare what it looks at": Judge(ROW, cast(Any, None), judges_nothing),
    "it needs a OddStory, but no fact is about a subject of that kind": Judge(ROW, OddStory, judges_nothing),
    "it needs heard, which no story has": Judge(ROW, PartitionStory, judges_nothing, ["heard"]),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_judge_that_can_judge_nothing_is_refused_by_name(why: str) -> None:
    judge = REFUSED[why]
    with pytest.raises(ValueError, match=f"judge {judge.row} judges_nothing: {why}"):
        check_usable([judge])


def test_a_judge_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=f"judge {JUDGES[0]} is there twice"):
        check_usable([*JUDGES, JUDGES[0]])


def test_rows_are_found_by_the_kinds_of_subjects() -> None:
    assert {"GEN-01", "GEN-02", "GEN-19"} == set(rows_about("resource"))
    assert ROW in rows_about("partition", "resource")
    assert rows_about("member") == ()
