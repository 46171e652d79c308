"""How machines begin on a column: a hunt plays what failed before first, and leaves out what it has seen already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from conformance.catalogue.former_ids import current_id
from conformance.running.evidence.folder import Schedule
from conformance.running.violations import Breach


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file of `--conformance-beginning`.

    `schedules` were recorded earlier, and are played before anything else. `opening` is whether the machines' opening schedules
    are played. `known` are breaches that were investigated already: none of them ends an example or is shrunk again. `reached`
    is the folder in which the counts of what examples reached are kept; empty for that of the run. A machine that has several
    clusters to run on begins with another one each `turn`.
    """

    schedules: Sequence[Schedule] = ()
    opening: bool = True
    known: Sequence[Breach] = ()
    reached: str = ""
    turn: int = 0

    def of_part(self, check: str, part: int, parts: int) -> Beginning:
        """The share of one part of a machine. Each schedule is played by one part, the opening by the first."""
        own = [one for one in self.schedules if current_id(one.check) == check]
        return msgspec.structs.replace(
            self, schedules=tuple(own[part - 1 :: parts]), opening=self.opening and part == 1
        )


def read_beginning(path: Path) -> Beginning:
    """Raises ValueError for a file that is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Beginning)
    except (OSError, msgspec.DecodeError) as error:
        raise ValueError(
            f"--conformance-beginning {path}: {error}. Give the beginning.json of a hunt's round, or leave the option out."
        ) from error
