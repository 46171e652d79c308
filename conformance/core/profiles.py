"""The profiles of a run, each with its minutes per column and the checks that it adds to the shorter profiles."""

from functools import cache
from importlib.resources import files
from typing import Literal, get_args

import msgspec

Profile = Literal["smoke", "quick", "nightly"]

PROFILES: tuple[Profile, ...] = get_args(Profile)
"""All profiles, the shortest first."""
MINUTES: dict[Profile, float] = {"smoke": 0.0, "quick": 15.0, "nightly": 60.0}
"""Minutes per column, by profile. 0 means that there is no clock: all work is done, however long it takes."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The worker seconds that a profile's checks may take, by family, and the seconds for `boots`. They add up to `minutes` on
    the machine that the file describes."""

    minutes: float
    boots: float
    families: dict[str, float]

    @property
    def seconds(self) -> float:
        """All worker seconds of the profile."""
        return self.boots + sum(self.families.values())


class Budgets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The budgets of the profiles on a machine with `cores` and `workers`.

    `from_quick` and `only_nightly` have the checks that are too long for shorter profiles, with the reason.
    """

    cores: int
    workers: int
    profiles: dict[Profile, Budget]
    from_quick: dict[str, str]
    only_nightly: dict[str, str]


@cache
def shipped_budgets() -> Budgets:
    """Return the budgets that come with the kit."""
    return msgspec.toml.decode((files(__package__) / "budgets.toml").read_bytes(), type=Budgets)
