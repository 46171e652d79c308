"""A hunt's state, `hunt.json`: its rounds and findings, from which the next command continues."""

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from conformance.campaign.hunt.findings import HuntFinding
from conformance.campaign.hunt.totals import Totals
from conformance.campaign.plan import write_whole
from fixtures.errors import WrongUse
from history.schema import SCHEMA, decode

HUNT = "hunt.json"


class Night(msgspec.Struct, kw_only=True):
    """One command: when it began (seconds since the epoch), the hours it was given, and the seconds it took.

    `searching` are the seconds of these spent on replays on other releases.
    """

    began: float
    hours: float
    seconds: float = 0.0
    searching: float = 0.0


class Round(msgspec.Struct, kw_only=True):
    """One pytest process: the machines on one column.

    `night` is an index. `options` are the user's pytest options, `selection` those that select the column. `schedules`
    are the names of those that ran first; `opening` tells whether the machines ran their openings. `code` is pytest's
    exit code, None for a killed round.
    """

    number: int
    night: int
    column: str
    selection: list[str]
    options: list[str]
    seed: int
    minutes: float
    opening: bool
    schedules: list[str] = []
    run: str = ""
    ended: bool = False
    code: int | None = None
    seconds: float = 0.0
    totals: Totals = msgspec.field(default_factory=Totals)

    @property
    def folder(self) -> str:
        """The folder of the round, below that of the hunt."""
        return f"rounds/{self.number:03}"


class Hunt(msgspec.Struct, kw_only=True):
    """A hunt over several nights. The seeds of its rounds derive from `seed`."""

    schema: int = SCHEMA
    seed: int
    nights: list[Night] = []
    rounds: list[Round] = []
    findings: list[HuntFinding] = []

    @property
    def seconds(self) -> float:
        return sum(night.seconds for night in self.nights)

    def begin(self, hours: float) -> Night:
        self.nights.append(Night(began=time.time(), hours=hours))
        return self.nights[-1]

    def rounds_of(self, column: str) -> list[Round]:
        return [one for one in self.rounds if one.column == column]

    def totals(self) -> dict[str, Totals]:
        """Return the totals of all rounds, by column."""
        columns: dict[str, Totals] = {}
        for one in self.rounds:
            columns[one.column] = columns.get(one.column, Totals()) + one.totals
        return columns

    def findings_of_round(self, number: int) -> Mapping[str, HuntFinding]:
        """Return the findings that were seen in a round, by name."""
        return {one.name: one for one in self.findings if any(s.round == number for s in one.sightings)}


def read_hunt(out: Path) -> Hunt | None:
    """Read the state of a hunt; None if there is none yet.

    Raises WrongUse for a file that is not the state of a hunt, WrongSchema for one of another schema.
    """
    path = out / HUNT
    if not path.exists():
        return None
    try:
        return decode(path.read_bytes(), Hunt, path)
    except msgspec.DecodeError as error:
        raise WrongUse(
            f"{path}: {error}. It is not a hunt of this kit; move it away, or give another --out."
        ) from error


def write_hunt(out: Path, hunt: Hunt) -> None:
    write_whole(out / HUNT, msgspec.json.format(msgspec.json.encode(hunt), indent=1))
