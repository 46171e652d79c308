"""Small parts of the site: words for ranges and for since when, names of files, bars, and the drawing of a trend."""

from __future__ import annotations

import re

import pytest

from reports.insights import Firsts, TrendPoint
from reports.site.trend import trend
from reports.site.views import anchor_of_label, bar_segments
from reports.texts.versions import broken_since, in_words
from tests.support.sample_matrix import ROW


def test_the_bar_has_a_segment_for_each_verdict_side_by_side() -> None:
    segments = bar_segments({"satisfied": 5, "violated": 2})
    assert [(s.verdict, s.start, s.count) for s in segments] == [("violated", 0, 2), ("satisfied", 2, 5)]


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ("3.3..3.7", "3.3 to 3.7"),
        ("4.3..4.3", "4.3"),
        ("4.3..", "4.3 and later"),
        ("..3.9", "up to 3.9"),
        ("..", "every version"),
    ],
)
def test_ranges_are_put_in_words(versions: str, words: str) -> None:
    assert in_words(versions) == words


@pytest.mark.parametrize(
    ("first_bad", "last_good", "first_good", "words"),
    [
        ("", "", "", ""),
        ("3.3.2", "", "", "Since 3.3.2 or before, last seen in 4.1.1"),
        ("3.3.2", "", "4.0.2", "Since 3.3.2 or before, mended in 4.0.2"),
        ("4.0.2", "3.9.2", "4.3.1", "Since 4.0.2 (3.9.2 was good), mended in 4.3.1"),
    ],
)
def test_since_when_is_put_in_words(first_bad: str, last_good: str, first_good: str, words: str) -> None:
    bad = ["3.3.2", "4.1.1"] if first_bad else []
    firsts = Firsts(
        requirement=ROW, bad=bad, good=[], first_bad=first_bad, last_good=last_good, first_good=first_good
    )  # fmt: skip
    assert broken_since(firsts) == words


def test_a_race_has_no_first_good_version() -> None:
    firsts = Firsts(
        requirement="R", bad=["3.9.2", "4.2.2"], good=["4.3.1"], first_bad="3.9.2", last_good="", first_good="4.3.1"
    )
    assert broken_since(firsts, race=True) == "Seen in 3.9.2, 4.2.2; a race: where it was not met, nothing is known"


def test_labels_become_names_of_files_that_stay_apart() -> None:
    labels = ["4.3.1", "4.3.1@a/b:c", "4.3.1@a-b:c", "../x", "..", "a b"]
    names = [anchor_of_label(label) for label in labels]
    assert names[0] == "4.3.1"
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9-][A-Za-z0-9._-]*", name) for name in names)


def test_the_trend_has_a_mark_per_run_and_column_with_a_verdict() -> None:
    points = [
        TrendPoint(
            requirement=ROW, kafka_version=label, run_date=date, run=run, verdict="satisfied", observations=1, violations=0
        )
        for label, date, run in (("4.3.1", "2026-11-21", "b"), ("4.3.1", "2026-11-20", "a"), ("gone", "2026-11-21", "b"))
    ]  # fmt: skip
    drawn = trend(points, ["3.9.2", "4.3.1"])
    assert drawn is not None
    assert drawn.runs == [("2026-11-20", "a"), ("2026-11-21", "b")]
    assert [name.text for name in drawn.names] == ["4.3.1", "gone", "2026-11-20"]
    newer, older, gone = drawn.marks
    assert (older.y, gone.x) == (newer.y, newer.x)
    assert older.x < newer.x < drawn.width
    assert newer.y < gone.y < drawn.height
    assert trend([], ["4.3.1"]) is None
