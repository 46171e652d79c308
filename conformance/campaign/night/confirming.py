"""The confirmation of what is new: the schedule of each new violation is replayed on a fresh cluster, with another seed.

What no replay shows again is told, and is red only if a later night finds it as well.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from conformance.campaign.hunt.findings import Replays, replays_in, schedules_of
from conformance.campaign.plan import ColumnRun, write_whole
from conformance.judging.news import BrokenCase
from conformance.running.machine.investigator import REPLAYS
from fixtures.errors import WrongUse
from history.shards import Shard

CONFIRMED = "confirmed.json"
"""The file of an attempt with the replays of what was new in it."""
AT_MOST = 10
"""The number of new cases that a leg replays; those beyond are new without replays."""

Confirmations = Mapping[BrokenCase, Replays]
"""The replays of new cases. A case without replays counts as new."""


class NewSchedule(NamedTuple):
    """A schedule that showed a new case; `label` is the anomaly."""

    case: BrokenCase
    label: str
    file: Path

    def replay(self, selection: Sequence[str]) -> ColumnRun:
        """Return the process that replays it on the column that these options select."""
        return ColumnRun(name=f"{self.case}", selection=[*selection], options=["--replay", str(self.file)])


def schedules_to_replay(folder: Path, shards: Iterable[Shard], new: Collection[BrokenCase]) -> list[NewSchedule]:
    """Return a recorded schedule of each new case, a shrunk one if there is one; `folder` is that of the evidence."""
    shown = sorted(
        (each for shard in shards for each in schedules_of(shard)),
        key=lambda each: each[1] is None or not each[1].seen,
    )
    found: dict[BrokenCase, NewSchedule] = {}
    for line, _ in shown:
        for case in {BrokenCase(line.requirement, line.case), BrokenCase(line.requirement, "")}.intersection(new):
            found.setdefault(case, NewSchedule(case, line.label, folder / line.evidence / "schedule.json"))
    return [found[case] for case in new if case in found][:AT_MOST]


def confirmations_of(replayed: Iterable[tuple[NewSchedule, Sequence[Shard]]]) -> Confirmations:
    """Return how often each schedule's replays, with these shards, showed its violation again."""
    return {one.case: replays_in(shards, one.case.requirement, one.label) for one, shards in replayed}


def is_missed(replays: Replays | None) -> bool:
    """True if most replays of a violation came to their end, and none showed it."""
    return replays is not None and replays.tries > REPLAYS / 2 and not replays.seen


def write_confirmations(folder: Path, found: Confirmations) -> None:
    write_whole(folder / CONFIRMED, msgspec.json.encode([*found.items()]))


def read_confirmations(folder: Path) -> dict[BrokenCase, Replays]:
    """Read an attempt's confirmations; none if it wrote none. Raises WrongUse for a file that has something else."""
    path = folder / CONFIRMED
    try:
        return (
            dict(msgspec.json.decode(path.read_bytes(), type=list[tuple[BrokenCase, Replays]])) if path.exists() else {}
        )
    except msgspec.DecodeError as error:
        raise WrongUse(f"{path}: {error}. It has no replays of this kit's.") from error
