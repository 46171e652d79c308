"""The attempts of a night's legs, each in its own folder, and those that count."""

from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from conformance.campaign.night.confirming import Confirmations, read_confirmations
from conformance.campaign.night.plan import NightPlan
from conformance.campaign.plan import write_whole
from fixtures.errors import WrongUse
from history.shards import read_header

BEGUN, ENDED = "attempt.json", "ended.json"
"""The files of an attempt: one from its beginning, the other once it ended by itself."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One try to run a leg of a night."""

    night: str
    leg: str
    number: int

    def __str__(self) -> str:
        return f"attempt {self.number} of leg {self.leg}"


class AttemptEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an attempt. `is_whole` if its checks ended by themselves; `trouble` is what else became of it; `seconds` is
    how long its column ran."""

    is_whole: bool
    trouble: list[str] = []
    seconds: float = 0.0


class FoundAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt, its folder, its end, or None if it was cut off, and the replays of what was new."""

    attempt: Attempt
    folder: Path
    end: AttemptEnd | None
    confirmed: Confirmations = {}

    @property
    def is_whole(self) -> bool:
        return self.end is not None and self.end.is_whole

    @property
    def shards(self) -> list[Path]:
        return sorted((self.folder / "shards").glob("*.jsonl"))


def begin_attempt(folder: Path, attempt: Attempt) -> None:
    """Mark a folder as an attempt's. Raises WrongUse if it is one already."""
    if (folder / BEGUN).exists():
        raise WrongUse(f"{folder}: {attempt} was begun before. Give another --attempt.")
    write_whole(folder / BEGUN, msgspec.json.encode(attempt))


def end_attempt(folder: Path, end: AttemptEnd) -> None:
    write_whole(folder / ENDED, msgspec.json.encode(end))


def find_attempts(folder: Path, plan: NightPlan) -> list[FoundAttempt]:
    """Return this night's attempts in any folder below, in their order. Raises WrongUse for two under one number, and for
    the attempt of a leg that is not in the plan."""
    found: dict[tuple[str, int], FoundAttempt] = {}
    for path in sorted(folder.rglob(BEGUN)):
        one = _read_attempt(path)
        if one.attempt.night != plan.night:
            continue
        if one.attempt.leg not in plan.all_legs:
            raise WrongUse(f"{path}: leg {one.attempt.leg!r} is not in the plan of night {plan.night}.")
        if (other := found.setdefault((one.attempt.leg, one.attempt.number), one)) is not one:
            raise WrongUse(f"{one.attempt} is in {other.folder} and in {one.folder}. Which one counts?")
    return [one for _, one in sorted(found.items())]


def _read_attempt(path: Path) -> FoundAttempt:
    end = path.with_name(ENDED)
    try:
        return FoundAttempt(
            attempt=msgspec.json.decode(path.read_bytes(), type=Attempt),
            folder=path.parent,
            end=msgspec.json.decode(end.read_bytes(), type=AttemptEnd) if end.exists() else None,
            confirmed=read_confirmations(path.parent),
        )
    except msgspec.DecodeError as error:
        raise WrongUse(f"{path.parent}: {error}. It is no attempt of this kit's.") from error


def next_number(folder: Path, plan: NightPlan, leg: str) -> int:
    """Return the number of a leg's next attempt, from 1."""
    return 1 + max((one.attempt.number for one in find_attempts(folder, plan) if one.attempt.leg == leg), default=0)


def counting_attempts(found: Sequence[FoundAttempt], leg: str, pooled: Collection[str] = ()) -> list[FoundAttempt]:
    """Return the attempts of a leg that count: its newest whole one, and those cut off only if the leg is among `pooled`.

    Raises WrongUse for an attempt with another column than its leg's, or with two builds.
    """
    own = [one for one in found if one.attempt.leg == leg]
    whole = [one for one in own if one.is_whole][-1:]
    cut_off = [one for one in own if one.end is None and one.shards and leg in pooled]
    for one in (counting := [*cut_off, *whole]):
        _refuse_foreign(one)
    builds = {header.column.digest for one in counting for path in one.shards if (header := read_header(path))}
    if len(builds) > 1:
        raise WrongUse(f"leg {leg}: its attempts ran {len(builds)} builds, and two builds never share a column.")
    return counting


def why_dead(one: FoundAttempt) -> str:
    """Return why an attempt does not count."""
    reasons = ["it was cut off"] if one.end is None else one.end.trouble or ["it left no column"]
    return f"attempt {one.attempt.number}: {'; '.join(reasons)}"


def _refuse_foreign(one: FoundAttempt) -> None:
    for path in one.shards:
        header = read_header(path)
        if header is not None and header.column.label != one.attempt.leg:
            raise WrongUse(f"{path}: {one.attempt} has a shard of column {header.column.label!r}.")
