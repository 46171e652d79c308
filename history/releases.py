"""Versions of Kafka in order: snapshots precede their release's candidates, and these precede the release."""

import re
from typing import NamedTuple

RELEASED = re.compile(r"\d+(\.\d+)+")
PRE_RELEASE = re.compile(r"\d+(\.\d+)+(-rc\d+|-SNAPSHOT)")
_STAGE = re.compile(r"(?P<numbers>\d+(?:\.\d+)*)(?:-(?P<snapshot>SNAPSHOT)|-rc(?P<candidate>\d+))?")


class Place(NamedTuple):
    """A version's place among all. `stage` is 0 for a snapshot, 1 for a release candidate, 2 for a release."""

    numbers: tuple[int, ...]
    stage: int
    candidate: int


def place_of_version(version: str) -> Place:
    """Return the place of a version: `4.5.0-SNAPSHOT`, `4.5.0-rc0`, `4.5.0` ascend. A vendor's suffix is ignored:
    `3.9.2-ccs` has the place of 3.9.2.

    Raises ValueError for a text that does not begin with a number.
    """
    found = _STAGE.match(version)
    if found is None:
        raise ValueError(
            f"{version!r} is no version of Kafka: write one that begins with a number, such as 4.3.1 or 4.5.0-rc1"
        )
    numbers = tuple(map(int, found["numbers"].split(".")[:3]))
    if found["snapshot"]:
        return Place(numbers, 0, 0)
    return Place(numbers, 1, int(found["candidate"])) if found["candidate"] else Place(numbers, 2, 0)


def is_candidate(version: str) -> bool:
    """True if a version is a release candidate, such as `4.5.0-rc1`."""
    return PRE_RELEASE.fullmatch(version) is not None and place_of_version(version).stage == 1


def release_of(version: str) -> str:
    """Return the release that a candidate or a snapshot precedes; any other version is its own."""
    return version.split("-")[0] if PRE_RELEASE.fullmatch(version) else version
