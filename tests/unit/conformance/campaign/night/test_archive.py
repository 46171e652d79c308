"""Which published column a leg is compared with, and what a write that was cut off leaves behind."""

from pathlib import Path

import msgspec
import pytest

from conformance.campaign.night.archive import NIGHT, Archive, PublishedNight
from conformance.judging.news import BrokenCase, JudgedCell
from conformance.judging.verdicts import Verdict
from conformance.running.baseline import Baseline, StaleEntry, read_baseline
from fixtures.errors import WrongUse

ROW = "KIP101-INV-01"


def publish(
    archive: Archive,
    night: str,
    *columns: str,
    attempt: int = 1,
    verdict: Verdict = "satisfied",
    doubted: dict[str, list[BrokenCase]] | None = None,
    provisional: dict[str, list[BrokenCase]] | None = None,
) -> None:
    cells = [JudgedCell(requirement=ROW, kafka_version=column, verdict=verdict) for column in columns]
    matrix = msgspec.json.encode(Baseline(kafka_versions=[*columns], cells=cells))
    legs = dict.fromkeys(columns, attempt)
    one = PublishedNight(night=night, legs=legs, not_seen_again=doubted or {}, provisional=provisional or {})
    archive.publish(one, matrix)


def test_the_baseline_is_the_last_published_column_of_the_leg_itself(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    publish(archive, "2026-11-24", "3.8.1", "4.3.1", verdict="violated")
    publish(archive, "2026-11-25", "4.3.1")
    assert archive.column("4.3.1", "2026-11-26")[:2] == ("2026-11-25", 1)
    column = archive.column("3.8.1", "2026-11-26")
    assert (column.night, column.age, column.cells[ROW].verdict) == ("2026-11-24", 2, "violated")
    assert archive.column("4.4.0", "2026-11-26") == ("", 0, {}, (), (), {})


def test_what_no_replay_saw_again_is_not_broken_in_the_baseline(tmp_path: Path) -> None:
    archive, case = Archive(tmp_path), BrokenCase(ROW, "")
    publish(archive, "1", "3.8.1", "4.3.1", verdict="violated", doubted={"4.3.1": [case]})
    assert archive.column("3.8.1", "2").cells[ROW].verdict == "violated"
    column = archive.column("4.3.1", "2")
    assert (column.cells[ROW].verdict, column.doubted) == ("inconclusive", {case})
    publish(archive, "2", "4.3.1", verdict="violated")
    column = archive.column("4.3.1", "3")
    assert (column.cells[ROW].verdict, column.doubted) == ("violated", {case}), "a second night found it"


def test_what_a_provisional_row_found_is_not_broken_in_the_baseline(tmp_path: Path) -> None:
    archive, case = Archive(tmp_path), BrokenCase(ROW, "")
    publish(archive, "1", "3.8.1", "4.3.1", verdict="violated", provisional={"4.3.1": [case]})
    assert archive.column("3.8.1", "2").cells[ROW].verdict == "violated"
    column = archive.column("4.3.1", "2")
    assert (column.cells[ROW].verdict, column.doubted) == ("inconclusive", set())


def test_a_column_is_measured_by_the_fullest_one_of_seven_nights(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    publish(archive, "1", "4.3.1")
    publish(archive, "2", "3.8.1")
    for night in range(3, 9):
        publish(archive, str(night), "4.3.1", verdict="not-run")
    assert archive.column("4.3.1", "9").fullest[ROW].verdict == "satisfied", "the seventh from the newest"
    publish(archive, "9", "4.3.1", verdict="not-run")
    assert archive.column("4.3.1", "10").fullest[ROW].verdict == "not-run"


def test_a_column_tells_which_deviations_did_not_hold_in_it(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    publish(archive, "1", "3.8.1", "4.3.1")
    matrix = read_baseline(archive.matrix_of("1"))
    stale = msgspec.structs.replace(matrix, stale_deviations=[StaleEntry(ROW, "4.3.1"), StaleEntry(ROW, "4.3.1")])
    archive.matrix_of("1").write_bytes(msgspec.json.encode(stale))
    assert archive.column("4.3.1", "2").stale == [ROW]
    assert archive.column("3.8.1", "2").stale == []


def test_no_attempt_of_a_night_is_the_baseline_of_another(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    publish(archive, "9", "4.3.1")
    publish(archive, "10", "4.3.1", verdict="violated")
    assert archive.column("4.3.1", "10").night == "9"
    publish(archive, "10", "4.3.1", attempt=2)
    assert [one.legs for one in archive.nights("11")] == [{"4.3.1": 2}, {"4.3.1": 1}]


def test_a_night_whose_write_was_cut_off_does_not_count(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    publish(archive, "9", "4.3.1")
    publish(archive, "10", "4.3.1")
    archive.matrix_of("10").with_name(NIGHT).rename(archive.matrix_of("10").with_name(f"{NIGHT}.draft"))
    assert archive.column("4.3.1", "11").night == "9"
    archive.refuse_older("9")


def test_a_night_before_the_newest_one_is_refused_and_the_same_one_is_not(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.refuse_older("1")
    publish(archive, "10", "4.3.1")
    archive.refuse_older("10")
    with pytest.raises(WrongUse, match="night 9 is older than 10, which is published"):
        archive.refuse_older("9")


def test_an_archive_that_lost_what_was_published_is_refused(tmp_path: Path) -> None:
    archive, newest = Archive(tmp_path), PublishedNight(night="9", legs={})
    archive.refuse_lost(None)
    with pytest.raises(WrongUse, match=r"night 9 was published, and .* has no night"):
        archive.refuse_lost(newest)
    publish(archive, "8", "4.3.1")
    with pytest.raises(WrongUse, match=r"night 9 was published, and .* has no later one than 8"):
        archive.refuse_lost(newest)
    publish(archive, "9", "4.3.1")
    archive.refuse_lost(newest)


def test_what_cannot_be_read_is_refused_by_its_name(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    publish(archive, "10", "4.3.1")
    archive.matrix_of("10").write_text('{"schema": 2, "kafka_versions": ["4.3.1"], "cells": []}')
    with pytest.raises(WrongUse, match=r"10/matrix.json: it is of schema 2"):
        archive.column("4.3.1", "11")
    archive.matrix_of("10").with_name(NIGHT).write_text("{")
    with pytest.raises(WrongUse, match=r"10/night.json"):
        archive.column("4.3.1", "11")
