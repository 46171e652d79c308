"""The declarations of each released minor: the facts for the catalogue's ranges and needs."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.catalogue import Facts
from fixtures.images.versions import released_versions

_SINCE: dict[str, dict[str, int]] = {
    "AddPartitionsToTxn": {"3.3": 3, "3.6": 4, "3.8": 5},
    "ConsumerGroupDescribe": {"4.0": 1},
    "ConsumerGroupHeartbeat": {"4.0": 1},
    "DescribeTopicPartitions": {"3.8": 0},
    "Fetch": {"3.3": 13, "3.5": 15, "3.7": 16, "3.9": 17, "4.1": 18},
    "ListOffsets": {"3.3": 7, "3.5": 8, "3.9": 9, "4.0": 10, "4.2": 11},
    "ListTransactions": {"3.3": 0, "3.8": 1, "4.1": 2},
    "Metadata": {"3.3": 12, "4.0": 13},
    "OffsetCommit": {"3.3": 8, "3.6": 9, "4.2": 10},
    "OffsetFetch": {"3.3": 8, "3.7": 9, "4.2": 10},
    "OffsetForLeaderEpoch": {"3.3": 4},
    "Produce": {"3.3": 9, "3.7": 10, "3.8": 11, "4.0": 12, "4.1": 13},
    "StreamsGroupHeartbeat": {"4.2": 0},
    "TxnOffsetCommit": {"3.3": 3, "3.8": 4, "4.0": 5},
    "WriteTxnMarkers": {"3.3": 1, "4.2": 2},
    "controller.AlterPartition": {"3.3": 2, "3.5": 3},
    "controller.Fetch": {"3.3": 13, "3.5": 15, "3.7": 16, "3.9": 17, "4.1": 18},
    "controller.Vote": {"3.3": 0, "3.9": 1, "4.0": 2},
    "metadata.version": {
        "3.3": 7, "3.4": 8, "3.5": 11, "3.6": 14, "3.7": 19, "3.8": 20, "3.9": 21,
        "4.0": 25, "4.1": 27, "4.2": 29, "4.3": 30, "4.4": 33,
    },
    "transaction.version": {"4.0": 2},
    "eligible.leader.replicas.version": {"4.1": 1},
    "group.version": {"4.0": 1},
    "streams.version": {"4.2": 1},
}  # fmt: skip
"""The minor since which a freshly formatted cluster declares a level, by name."""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def facts_of(version: str, **changed: int) -> Facts:
    """Return the facts of a fresh cluster of that version; `changed` are features formatted at another level (`_` for a
    dot)."""
    ranges: dict[str, int] = {}
    for name, levels in _SINCE.items():
        reached = [level for minor, level in levels.items() if numbers(minor) <= numbers(version)[:2]]
        ranges |= {name: reached[-1]} if reached else {}
    ranges["supported.metadata.version"] = ranges["metadata.version"]
    return Facts(version=version, ranges=ranges | {name.replace("_", "."): level for name, level in changed.items()})


def plausible() -> Iterator[Facts]:
    """Yield each release with the features that it formats by default, and with those that an operator may lower or
    raise."""
    for version in released_versions():
        yield facts_of(version)
        yield facts_of(version, metadata_version=7)
        if numbers(version) >= (3, 9):
            yield facts_of(version, kraft_version=1)
        if numbers(version) >= (4, 0):
            yield facts_of(version, transaction_version=0)
            yield facts_of(version, transaction_version=1)
            yield facts_of(version, group_version=0)
