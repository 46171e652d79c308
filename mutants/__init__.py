"""Brokers with one planted bug each, to prove that the kit detects bugs: a Java agent and a table of the rows that must
turn red.

A further mutant is one class in agent/src/main/java/mutants/planted/ and one entry in table.toml, whose rows are
committed before the mutant runs for the first time.
"""

from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import msgspec

from fixtures.errors import WrongUse

TABLE = Path(__file__).with_name("table.toml")


class UnknownMutant(WrongUse):
    """A name that is not in the table."""


class Red(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row that must turn `violated`; `kind` names the checks that have to run first."""

    id: str
    kind: Literal["probe", "property", "scenario"]
    why: str


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A planted bug. `targets` are the places that it changes, each with its names over the releases, as Class#method.

    `applies` are the Kafka versions with these places, as in the catalogue; `when` says how often the bug shows there.
    Rows in `red` must turn `violated`; rows in `may` can, depending on timing.
    """

    name: str
    targets: tuple[tuple[str, ...], ...]
    applies: tuple[str, ...]
    about: str
    red: tuple[Red, ...]
    when: str = "always"
    may: tuple[Red, ...] = ()

    @property
    def install_line(self) -> str:
        """The start of the line that a JVM with this mutant writes to stderr before any code of Kafka runs."""
        return f"Mutant {self.name} is installed in "


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    mutant: tuple[Mutant, ...]


def all_mutants() -> tuple[Mutant, ...]:
    """Read all mutants, in the order of the table."""
    return msgspec.toml.decode(TABLE.read_bytes(), type=_Table).mutant


def mutant(name: str) -> Mutant:
    """Return the mutant of that name. Raises UnknownMutant with the known names."""
    known = {each.name: each for each in all_mutants()}
    if name not in known:
        near = " or ".join(get_close_matches(name, known))
        meant = f"Did you mean {near}" if near else f"{TABLE.name} has {', '.join(sorted(known))}"
        raise UnknownMutant(f"no mutant is named '{name}'. {meant}{'?' if near else '.'}")
    return known[name]
