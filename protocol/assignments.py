"""Classic members' subscriptions and assignments, in the consumer protocol's bytes."""

import struct
from collections.abc import Mapping, Sequence

_LISTED = struct.Struct(">hi")
"""The version of a classic member's bytes, and the length of the list that follows."""


def subscription(topics: Sequence[str], owned: Mapping[str, Sequence[int]] | None = None) -> bytes:
    """Return a classic member's ConsumerProtocolSubscription: version 0, or 1 if it names `owned` partitions."""
    wanted = b"".join(_string(topic) for topic in topics)
    if owned is None:
        return _encode_version(wanted, len(topics))
    return _encode_version(wanted, len(topics), 1) + struct.pack(">i", len(owned)) + _partitions(owned)


def encode_assignment(partitions: Mapping[str, Sequence[int]]) -> bytes:
    """Return a classic member's assignment (ConsumerProtocolAssignment, version 0)."""
    return _encode_version(_partitions(partitions), len(partitions))


def assigned_in(assignment: bytes) -> dict[str, tuple[int, ...]]:
    """Return the partitions in a classic member's assignment, by topic; none if it is empty."""
    return _read_partitions(assignment, _LISTED.size, _LISTED.unpack_from(assignment)[1] if assignment else 0)


def owned_in(metadata: bytes) -> dict[str, tuple[int, ...]] | None:
    """Return the partitions that a classic member names as owned in its subscription, by topic; None if it has no such field."""
    version, topics = _LISTED.unpack_from(metadata) if metadata else (0, 0)
    if version < 1:
        return None
    at = _LISTED.size
    for _ in range(topics):
        at += 2 + struct.unpack_from(">h", metadata, at)[0]
    at += 4 + max(0, struct.unpack_from(">i", metadata, at)[0])
    return _read_partitions(metadata, at + 4, struct.unpack_from(">i", metadata, at)[0])


def _read_partitions(data: bytes, at: int, topics: int) -> dict[str, tuple[int, ...]]:
    """Return the partitions of a list of topics that begins at this place."""
    found: dict[str, tuple[int, ...]] = {}
    for _ in range(topics):
        [length] = struct.unpack_from(">h", data, at)
        topic, at = data[at + 2 : at + 2 + length].decode(), at + 2 + length
        [count] = struct.unpack_from(">i", data, at)
        found[topic], at = struct.unpack_from(f">{count}i", data, at + 4), at + 4 + 4 * count
    return found


def _encode_version(topics: bytes, count: int, version: int = 0) -> bytes:
    """Return the bytes of a version, an array of topics and empty user data."""
    return _LISTED.pack(version, count) + topics + struct.pack(">i", -1)


def _partitions(partitions: Mapping[str, Sequence[int]]) -> bytes:
    listed = [_string(t) + struct.pack(f">i{len(p)}i", len(p), *p) for t, p in partitions.items()]
    return b"".join(listed)


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()
