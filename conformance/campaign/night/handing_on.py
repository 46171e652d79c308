"""Things that a leg hands on to the next night: schedules of machines that showed something new, and Hypothesis' examples.

The next night plays these schedules before anything else: what was seen once is looked for again, also where no replay saw it.
"""

import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from conformance.campaign.night.archive import Archive
from conformance.campaign.night.attempts import FoundAttempt
from conformance.campaign.night.confirming import schedules_to_replay
from conformance.campaign.plan import write_whole
from conformance.judging.news import BrokenCase
from conformance.running.evidence.folder import Schedule
from conformance.running.machine.beginning import Beginning
from history.schema import WrongSchema, decode
from history.shards import read_shards

HANDED_ON = "handed-on"
"""The folder of the archive with a folder for each leg."""
EXAMPLES = "examples"
"""The folder of a run, and of a leg here, with Hypothesis' database."""
SCHEDULES, BEGINNING = "schedules.json", "beginning.json"
NIGHTS = 14
"""The number of published nights for which a schedule is played again after it showed something new."""
AT_MOST = 20
"""The most schedules of a leg, the newest first."""
LARGEST = 50 * 1024**2
"""The bytes of a database above which the leg begins a new one."""


class HandedOnSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule, as an evidence folder keeps it, and the night in which it showed something new."""

    night: str
    schedule: msgspec.Raw


def hand_on(archive: Archive, leg: str, night: str, found: Sequence[FoundAttempt], new: Collection[BrokenCase]) -> None:
    """Keep what the attempts of a leg leave to the next night, whatever became of them; call it before the night is published."""
    folder = archive.folder / HANDED_ON / leg
    schedules = [*_schedules_of(night, found, new), *_read_schedules(folder, archive.names[: NIGHTS - 1])]
    distinct: dict[bytes, HandedOnSchedule] = {}
    for one in schedules:
        distinct.setdefault(bytes(one.schedule), one)
    write_whole(folder / SCHEDULES, msgspec.json.encode([*distinct.values()][:AT_MOST]))
    databases = [one.folder / EXAMPLES for one in found if (one.folder / EXAMPLES).is_dir()]
    for database in databases[-1:]:
        shutil.rmtree(folder / EXAMPLES, ignore_errors=True)
        if sum(path.stat().st_size for path in database.rglob("*") if path.is_file()) <= LARGEST:
            shutil.copytree(database, folder / EXAMPLES)


def take_over(archive: Archive, leg: str, out: Path) -> list[str]:
    """Lay out what was handed on in the folder of a leg's new attempt, and return the options with which it begins."""
    folder = archive.folder / HANDED_ON / leg
    if (folder / EXAMPLES).is_dir():
        shutil.copytree(folder / EXAMPLES, out / EXAMPLES)
    schedules = [*_current(_read_schedules(folder, archive.names))]
    if not schedules:
        return []
    write_whole(out / BEGINNING, msgspec.json.encode(Beginning(schedules=schedules)))
    return ["--conformance-beginning", str(out / BEGINNING)]


def _schedules_of(night: str, found: Iterable[FoundAttempt], new: Collection[BrokenCase]) -> Iterator[HandedOnSchedule]:
    for one in found:
        for each in schedules_to_replay(one.folder, read_shards(one.folder / "shards"), new):
            content = each.file.read_bytes() if each.file.is_file() else b""
            if content and decode(content, Schedule, each.file).steps:
                yield HandedOnSchedule(night=night, schedule=msgspec.Raw(content))


def _read_schedules(folder: Path, nights: Collection[str]) -> list[HandedOnSchedule]:
    """Return the schedules that were new in these nights."""
    path = folder / SCHEDULES
    found = msgspec.json.decode(path.read_bytes(), type=list[HandedOnSchedule]) if path.exists() else []
    return [one for one in found if one.night in nights]


def _current(found: Iterable[HandedOnSchedule]) -> Iterator[Schedule]:
    """Yield the schedules that this kit reads; those of an older schema have had their time."""
    for one in found:
        try:
            yield decode(bytes(one.schedule), Schedule, "a schedule of an earlier night")
        except WrongSchema:
            continue
