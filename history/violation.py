"""`violation.json` of an evidence folder: the violation as it was recorded, for programs."""

import msgspec

from history.observations import Observation
from history.schema import SCHEMA

VIOLATION = "violation.json"
DISKS = "disks.txt"
"""The file that describes the replicas and checkpoints copied from the nodes' disks."""


class FiledViolation(msgspec.Struct, frozen=True, kw_only=True):
    """A violation in its evidence folder.

    `notices` say what a user would notice, `seen_again` is the result of the replays in words, empty before them; `lacking`
    are the reasons for what could not be collected.
    """

    schema: int = SCHEMA
    observation: Observation
    notices: list[str]
    seen_again: str = ""
    lacking: list[str] = []
