"""The plan of a night: its legs, their options, and whether the night is whole. Only a whole night is published."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.campaign.plan import write_whole
from fixtures.errors import WrongUse

_NIGHT = re.compile(r"\d+(-\d+)*")
"""The name of a night: a date or a number, so that a later night comes after an earlier one."""


class Canary(msgspec.Struct, frozen=True, kw_only=True):
    """A leg that must not look well: a mutant of a version, or without one an empty cluster.

    `red` are the rows that must be violated, or for an empty cluster the rows that it runs; `may` are others that may be.
    """

    name: str
    kafka_version: str
    mutant: str = ""
    red: list[str]
    may: list[str] = []

    @property
    def options(self) -> list[str]:
        """The options of its run: an empty cluster runs only these rows, a mutant all, in the shortest profile."""
        rows = [] if self.mutant else [word for row in self.red for word in ("--requirement", row)]
        return ["--conformance-profile", "smoke", *rows]


class NightPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A night. `missing` is why it is only a part of one; `legs` are the versions, each run with these `options`."""

    night: str
    missing: list[str]
    legs: list[str]
    options: list[str]
    canaries: list[Canary] = []

    @property
    def is_whole(self) -> bool:
        return not self.missing

    @property
    def all_legs(self) -> list[str]:
        return [*self.legs, *(canary.name for canary in self.canaries)]

    def canary(self, leg: str) -> Canary | None:
        return next((canary for canary in self.canaries if canary.name == leg), None)


def plan_night(
    night: str,
    legs: Sequence[str],
    newest: Sequence[str],
    requirements: Sequence[str],
    options: Sequence[str],
    *,
    is_meant_whole: bool,
) -> NightPlan:
    """Return the plan of a night. It is whole if it is meant to be, has all `newest` patches, and every row."""
    place_of(night)
    left_out = [version for version in newest if version not in legs]
    missing = [
        *([] if is_meant_whole else ["it was neither scheduled nor asked for as a whole one"]),
        *([f"it leaves out {', '.join(left_out)}"] if left_out else []),
        *([f"it has only the rows {', '.join(requirements)}"] if requirements else []),
    ]
    rows = [word for glob in requirements for word in ("--requirement", glob)]
    return NightPlan(night=night, missing=missing, legs=[*legs], options=[*options, *rows])


def place_of(night: str) -> tuple[int, ...]:
    """Return the place of a night among others. Raises WrongUse for a name that is neither a date nor a number."""
    if not _NIGHT.fullmatch(night):
        raise WrongUse(f"a night is named by a date or a number, such as 2026-11-27 or 412, not {night!r}.")
    return tuple(map(int, night.split("-")))


def read_night(path: Path) -> NightPlan:
    """Read a plan. Raises WrongUse for a file that is none."""
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=NightPlan)
    except (OSError, msgspec.DecodeError) as error:
        raise WrongUse(f"{path}: {error}. Give a plan that `night plan` wrote.") from error
    place_of(plan.night)
    return plan


def write_night(path: Path, plan: NightPlan) -> None:
    write_whole(path, msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
