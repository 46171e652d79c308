"""Headers of shards: the day on which their run began, by its id."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from fixtures.runs import new_id
from history.shards import Header
from tests.support.sample_shards import ShardBuilder


def header(run: str) -> Header:
    return ShardBuilder("s-1", "4.3.1", run=run).header


@pytest.mark.parametrize(("run", "day"), [("261127-235959-1bb7", date(2026, 11, 27)), ("nightly", None), ("", None)])
def test_the_day_of_a_run_is_in_its_id(run: str, day: date | None) -> None:
    assert header(run).day == day


def test_a_run_that_begins_now_began_today() -> None:
    day = header(new_id()).day
    assert day is not None
    assert abs(day - datetime.now(UTC).date()) <= timedelta(days=1)
