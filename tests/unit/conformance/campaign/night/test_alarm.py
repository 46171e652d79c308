"""The alarm for a night that did not happen."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from conformance.campaign.night.alarm import complaints, read_published
from conformance.campaign.night.archive import PublishedNight
from fixtures.errors import WrongUse

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def complaints_after(age: timedelta | None, quiet: timedelta | None = timedelta()) -> list[str]:
    newest = PublishedNight(night="14", legs={}, published=(NOW - age).isoformat()) if age is not None else None
    return [*complaints(newest, NOW - quiet if quiet is not None else None, NOW)]


def test_a_night_that_is_older_than_a_day_and_a_half_is_missed() -> None:
    assert complaints_after(timedelta(hours=36)) == []
    assert complaints_after(timedelta(hours=37)) == [
        "Night 14, the newest one, was published 37 hours ago: a night is missing."
    ]
    assert complaints_after(None) == ["No night was ever published, or its time is lost."]


def test_a_clock_that_went_back_raises_the_alarm() -> None:
    assert complaints_after(timedelta(hours=-2)) == [
        "Night 14 was published in 2 hours from now: did the clock go back?"
    ]


def test_a_schedule_that_is_about_to_be_switched_off_raises_the_alarm() -> None:
    assert complaints_after(timedelta(), timedelta(days=50)) == []
    (one,) = complaints_after(timedelta(), timedelta(days=51))
    assert one.startswith("The last commit is 51 days old")
    assert complaints_after(timedelta(), None) == [], "no checkout"


def test_what_is_no_published_night_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "published.json"
    assert read_published(path) is None
    path.write_bytes(msgspec.json.encode(PublishedNight(night="14", legs={}, published="yesterday")))
    with pytest.raises(WrongUse, match="night 14: 'yesterday' is no time"):
        [*complaints(read_published(path), None, NOW)]
    path.write_text("{")
    with pytest.raises(WrongUse, match=r"published.json"):
        read_published(path)
