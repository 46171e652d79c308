"""The alarm for a night that did not happen, and for a schedule that is about to be switched off."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from conformance.campaign.night.archive import PublishedNight
from fixtures.errors import WrongUse

LATE = timedelta(hours=36)
"""The age of the newest published night above which a night is missing."""
QUIET = timedelta(days=50)
"""The age of the last commit above which to warn: GitHub switches schedules off after 60 days."""


def read_published(path: Path) -> PublishedNight | None:
    """Read what a merge wrote of the night that it published; None if there is no file. Raises WrongUse for anything else."""
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=PublishedNight)
    except msgspec.DecodeError as error:
        raise WrongUse(f"{path}: {error}. It is no published night of this kit's.") from error


def complaints(newest: PublishedNight | None, committed: datetime | None, now: datetime) -> Iterator[str]:
    """Yield what is wrong with the nights; `committed` is the time of the last commit, if there is one."""
    if newest is None:
        yield "No night was ever published, or its time is lost."
    elif (age := now - _time_of(newest)) > LATE:
        yield f"Night {newest.night}, the newest one, was published {_hours(age)} hours ago: a night is missing."
    elif age < timedelta():
        yield f"Night {newest.night} was published in {_hours(-age)} hours from now: did the clock go back?"
    if committed is not None and (quiet := now - committed) > QUIET:
        yield f"The last commit is {quiet.days} days old: after 60 days GitHub switches the schedule off, and this one with it."


def _time_of(night: PublishedNight) -> datetime:
    try:
        return datetime.fromisoformat(night.published).astimezone(UTC)
    except ValueError as error:
        raise WrongUse(f"night {night.night}: {night.published!r} is no time.") from error


def _hours(age: timedelta) -> int:
    return round(age / timedelta(hours=1))
