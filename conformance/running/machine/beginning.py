"""The beginning of machines on a column: a hunt first replays former failures, and skips known ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.core.machines import AnyMachine
from conformance.running.evidence.folder import Schedule
from conformance.running.violations import Breach
from history.schema import SCHEMA, decode


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file of `--conformance-beginning`.

    Recorded `schedules` run before anything else. `opening` says whether the machines' opening schedules run. Breaches in `known`
    were already investigated: they neither end an example nor are shrunk again. `reached` is the folder with counts of what
    examples reached; if empty, it is the run's own. At each `turn` a machine with several topologies starts with the next one.
    """

    schema: int = SCHEMA
    schedules: Sequence[Schedule] = ()
    opening: bool = True
    known: Sequence[Breach] = ()
    reached: str = ""
    turn: int = 0

    def for_part(self, check: AnyMachine, part: int, parts: int) -> Beginning:
        """Return the part of this beginning for one part of a machine. The first part runs the opening; each schedule goes to one
        part, if possible one on the topology where it was recorded."""
        own = [one for one in self.schedules if one.check == check.id]
        clusters = [check.topology_of(number + self.turn).name for number in range(1, parts + 1)]
        played = tuple(one for place, one in enumerate(own) if _player_of_schedule(place, one, clusters) == part)
        return msgspec.structs.replace(self, schedules=played, opening=self.opening and part == 1)


def _player_of_schedule(place: int, schedule: Schedule, clusters: Sequence[str]) -> int:
    """Return the number of the part that runs the schedule; `clusters` are the topologies of all parts."""
    parts = range(1, len(clusters) + 1)
    able = [part for part in parts if clusters[part - 1] == schedule.topology] or parts
    return able[place % len(able)]


def read_beginning(path: Path) -> Beginning:
    """Read the file of `--conformance-beginning`. Raises ValueError if it is not one."""
    try:
        return decode(path.read_bytes(), Beginning, path)
    except (OSError, msgspec.DecodeError) as error:
        raise ValueError(
            f"--conformance-beginning {path}: {error}. Give the beginning.json of a hunt's round, or leave the option out."
        ) from error
