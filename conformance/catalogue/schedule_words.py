"""The words with which known deviations describe a schedule's deeds: steps, and faults with their roles."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from conformance.catalogue.rows import CatalogueError

SHIPPED = files("conformance") / "catalogue" / "schedule-words.toml"
ANY = "any"
"""The word for any role of a fault."""


class ScheduleWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of all machines, those that most schedules take, and each fault's roles."""

    steps: frozenset[str]
    everyday: frozenset[str]
    faults: Mapping[str, tuple[str, ...]]

    def check(self, deed: str) -> None:
        """Raise CatalogueError for a deed that no schedule has."""
        name, _, role = deed.partition(" ")
        if name in self.steps and role in ("", "leader", "follower", "former-leader"):
            return
        if name not in self.faults:
            raise CatalogueError(
                f"{deed!r}: {name!r} is neither a step nor a fault; conformance/catalogue/schedule-words.toml has them all"
            )
        if role != ANY and role not in self.faults[name]:
            known = ", ".join((*self.faults[name], ANY))
            raise CatalogueError(
                f"{deed!r}: {name} has no role {role!r}; write one of {known} after its name"
                if role
                else f"{deed!r} names no role; write one of {known} after it"
            )

    def lasts(self, deed: str) -> bool:
        """True if the deed is a fault, which lasts until it is healed, and not one that shares its name with a step."""
        name = deed.partition(" ")[0]
        return name in self.faults and name not in self.steps

    def is_everyday(self, deeds: Iterable[str]) -> bool:
        """True if nearly every schedule does one of these deeds: one is a common step, or together they name every fault."""
        named = {deed.partition(" ")[0] for deed in deeds}
        return bool(named & self.everyday) or self.faults.keys() <= named


@cache
def schedule_words() -> ScheduleWords:
    """Return the shipped words; a test compares them with the faults and machines."""
    return msgspec.convert(tomllib.loads(SHIPPED.read_text(encoding="utf-8")), ScheduleWords)
