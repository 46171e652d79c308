"""The partition of an internal topic that holds the state of a group or transactional id, and whose leader is its
coordinator."""

from __future__ import annotations

from protocol.cluster import CoordinatorType

LOGS = {CoordinatorType.GROUP: "__consumer_offsets", CoordinatorType.TRANSACTION: "__transaction_state"}
"""The internal topic for the state of each kind of coordinator."""


def partition_for(key: str, partitions: int) -> int:
    """Return the partition of a coordinator's topic that holds a key: `Utils.abs(key.hashCode()) % partitions`."""
    return abs_of(java_hash(key)) % partitions


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: computed over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be")
    total = 0
    for at in range(0, len(units), 2):
        total = (31 * total + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    return total - (1 << 32) if total >= 1 << 31 else total


def abs_of(number: int) -> int:
    """Return Kafka's `Utils.abs`, which is 0 for the smallest 32-bit number, since that has no positive counterpart."""
    return 0 if number == -(1 << 31) else abs(number)
