"""Which column of a baseline a column is compared with, and what is no baseline."""

from pathlib import Path

import msgspec
import pytest

from conformance.judging.news import JudgedCell
from conformance.judging.verdicts import CaseTally, Cell, Verdict
from conformance.running.baseline import Baseline, BaselineColumn, news_lines, news_since, read_baseline

ROW = "KIP101-INV-01"
EXECUTED = [f"KIP101-INV-{number:02}" for number in range(2, 12)]


def ran(column: str = "4.3.1", verdict: Verdict = "violated", rows: list[str] | None = None) -> list[Cell]:
    return [
        Cell(
            requirement=row,
            kafka_version=column,
            verdict=verdict,
            reason="",
            observations=1,
            violations=1,
            cases={"time": CaseTally(violated=int(verdict == "violated"))},
        )
        for row in rows or [ROW]
    ]


def known(*columns: str, verdict: Verdict = "violated", rows: list[str] | None = None) -> Baseline:
    cells = [
        JudgedCell(requirement=row, kafka_version=column, verdict=verdict)
        for column in columns
        for row in rows or [ROW]
    ]
    return Baseline(kafka_versions=[*columns], cells=cells, columns=[BaselineColumn(one, ["quick"]) for one in columns])


def is_new(baseline: Baseline, column: str, *others: str) -> bool:
    cells = [cell for label in (column, *others) for cell in ran(label)]
    return bool(news_since(baseline, cells, {})[column].new)


@pytest.mark.parametrize(
    ("baseline", "column", "others", "new"),
    [
        (known("4.3.1"), "4.3.1", [], False),
        (known("4.3.1", "3.9.2"), "4.3.1@mine", [], False),
        (known("rc1"), "rc2", [], False),  # the only column on both sides
        (known("rc1"), "rc2", ["4.3.1"], True),
        (known("rc1", "4.3.1"), "rc2", [], True),
        (Baseline(), "4.3.1", [], True),
    ],
)
def test_a_column_is_compared_with_its_own_and_else_with_none(
    baseline: Baseline, column: str, others: list[str], *, new: bool
) -> None:
    assert is_new(baseline, column, *others) == new


def test_a_violation_of_another_column_is_not_known() -> None:
    other = Baseline(
        kafka_versions=["3.9.2", "4.3.1"], cells=known("3.9.2").cells + known("4.3.1", verdict="satisfied").cells
    )
    assert is_new(other, "4.3.1")


def test_too_little_is_told_of_a_column_that_was_run_like_its_baseline_column() -> None:
    baseline = known("4.3.1", verdict="satisfied", rows=EXECUTED)
    for executed, profiles, is_too_little in (
        (9, ["quick"], False),
        (8, ["quick"], True),
        (8, ["smoke"], False),
        (8, [], False),
    ):
        cells = ran(verdict="satisfied", rows=EXECUTED[:executed])
        assert bool(news_since(baseline, cells, {}, profiles)["4.3.1"].too_little) == is_too_little


def test_what_is_new_is_told_by_column() -> None:
    news = news_since(known("4.3.1", verdict="satisfied"), ran(), {})
    assert [*news_lines(news, known("4.3.1"))] == [
        "4.3.1, since the baseline's 4.3.1: 1 new, 0 judged for the first time, 0 known",
        f"  new          {ROW} (time)",
    ]
    assert [*news_lines(news, Baseline())] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[]", "Expected"),
        (b"{", "truncated"),
        (b"{}", "it has no column"),
        (b'{"kafka_versions": ["4.3.1"], "cells": [], "schema": 2}', "it is of schema 2"),
    ],
)
def test_what_is_no_baseline_is_refused_by_its_name(text: bytes, words: str, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_bytes(text)
    with pytest.raises(ValueError, match=f"baseline.json.*{words}"):
        read_baseline(file)
    file.write_bytes(msgspec.json.encode(known("4.3.1")))
    assert read_baseline(file).kafka_versions == ["4.3.1"]
