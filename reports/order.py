"""The order of columns by the version that they are judged as, and why some columns have no place in it."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import msgspec

from history.releases import PRE_RELEASE, RELEASED, place_of_version

_SETTINGS = ("--feature", "--server-property")
"""The options that make a column differ from the defaults of its version."""


class Placed(Protocol):
    """A column of a merge."""

    @property
    def kafka_version(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def selection(self) -> list[str]: ...


class Unordered(msgspec.Struct, frozen=True, kw_only=True):
    """A column that has no place in the order of versions, and the reason."""

    kafka_version: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kafka_version} has no place in the order of versions: {self.reason}"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The columns in ascending order of versions: a snapshot, then the release candidates, then the release."""

    labels: list[str]
    unordered: list[Unordered]


def in_order(columns: Sequence[Placed]) -> Order:
    """Sort columns by the versions that they are judged as, and separate those without a place in this order."""
    reasons = {column.kafka_version: _own_settings(column) or _unknown_build(column) for column in columns}
    known = [column for column in columns if not reasons[column.kafka_version]]
    own = Counter(column.version for column in known)
    official = {column.version for column in known if _is_official(column)}
    reasons |= {
        column.kafka_version: _other_build_beside(column, column.version in official)
        for column in known
        if own[column.version] > 1 and not _is_official(column)
    }
    found = sorted(
        (column for column in columns if not reasons[column.kafka_version]),
        key=lambda one: place_of_version(one.version),
    )
    left = [Unordered(kafka_version=label, reason=reason) for label, reason in reasons.items() if reason]
    return Order(labels=[column.kafka_version for column in found], unordered=left)


def _is_official(column: Placed) -> bool:
    """True if the column is a release or a release candidate as it was published."""
    return column.kafka_version == column.version


def _own_settings(column: Placed) -> str:
    named = any(word in _SETTINGS for word in column.selection)
    return "it runs with features or properties of its own" if named else ""


def _unknown_build(column: Placed) -> str:
    if PRE_RELEASE.fullmatch(column.version) or (RELEASED.fullmatch(column.version) and _is_official(column)):
        return ""
    return (
        f"it is a build of its own, made from {column.version}, and no release, candidate or snapshot of Apache Kafka"
    )


def _other_build_beside(column: Placed, official: bool) -> str:
    other = "the published one is a column too" if official else "another column is one too"
    return f"it is a {column.version}, and {other}: which is older is not known"
