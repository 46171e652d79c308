"""Configurations of topics, brokers and groups: defaults, validation, and the values in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from protocol.codes import Error
from protocol.configs import ResourceType

Plain = dict[str, Any]
Resource = tuple[int, str]
"""A resource type and name. A broker's name is its id as text; an empty name means all brokers' default."""
Configs = Mapping[Resource, Mapping[str, str]]

TOPIC, BROKER, GROUP = ResourceType.TOPIC.value, ResourceType.BROKER.value, ResourceType.GROUP.value
SET, DELETE, APPEND, SUBTRACT = range(4)
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, DEFAULT, OF_GROUP = 1, 2, 3, 5, 8
"""Values of `config_source`."""

LONGEST = 2**63 - 1


def whole_number(low: int, high: int = LONGEST) -> Callable[[str], bool]:
    def valid(value: str) -> bool:
        text = value.strip()
        return text.removeprefix("-").isdecimal() and low <= int(text) <= high

    return valid


def ratio(value: str) -> bool:
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


def one_of(*allowed: str) -> Callable[[str], bool]:
    return lambda value: value in allowed


def listed(*allowed: str) -> Callable[[str], bool]:
    """Return a predicate for non-empty lists of allowed items."""
    return lambda value: bool(value) and all(item in allowed for item in value.split(","))


boolean = one_of("true", "false")

Known = Mapping[int, Mapping[str, tuple[str, Callable[[str], bool]]]]

KNOWN: Known = {
    TOPIC: {
        "cleanup.policy": ("delete", listed("delete", "compact")),
        "compression.type": ("producer", one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
        "delete.retention.ms": ("86400000", whole_number(0)),
        "file.delete.delay.ms": ("60000", whole_number(0)),
        "flush.messages": (str(LONGEST), whole_number(1)),
        "flush.ms": (str(LONGEST), whole_number(0)),
        "index.interval.bytes": ("4096", whole_number(0, 2**31 - 1)),
        "max.compaction.lag.ms": (str(LONGEST), whole_number(1)),
        "max.message.bytes": ("1048588", whole_number(0, 2**31 - 1)),
        "message.timestamp.type": ("CreateTime", one_of("CreateTime", "LogAppendTime")),
        "min.cleanable.dirty.ratio": ("0.5", ratio),
        "min.compaction.lag.ms": ("0", whole_number(0)),
        "min.insync.replicas": ("1", whole_number(1, 2**31 - 1)),
        "preallocate": ("false", boolean),
        "retention.bytes": ("-1", whole_number(-1)),
        "retention.ms": ("604800000", whole_number(-1)),
        "segment.bytes": ("1073741824", whole_number(14, 2**31 - 1)),
        "segment.index.bytes": ("10485760", whole_number(4, 2**31 - 1)),
        "segment.jitter.ms": ("0", whole_number(0)),
        "segment.ms": ("604800000", whole_number(1)),
        "unclean.leader.election.enable": ("false", boolean),
    },
    BROKER: {
        "background.threads": ("10", whole_number(1, 2**31 - 1)),
        "log.cleaner.backoff.ms": ("15000", whole_number(0)),
        "log.retention.bytes": ("-1", whole_number(-1)),
        "log.retention.ms": ("604800000", whole_number(-1)),
        "message.max.bytes": ("1048588", whole_number(0, 2**31 - 1)),
        "min.insync.replicas": ("1", whole_number(1, 2**31 - 1)),
    },
    GROUP: {
        "consumer.heartbeat.interval.ms": ("5000", whole_number(5_000, 15_000)),
        "consumer.session.timeout.ms": ("45000", whole_number(45_000, 60_000)),
    },
}
"""The dynamic configurations by type of resource, each with its default and a predicate for its values."""

SHORT_SESSIONS = {
    **KNOWN,
    GROUP: {
        "consumer.assignment.interval.ms": ("0", whole_number(0, 15_000)),
        "consumer.heartbeat.interval.ms": ("5000", whole_number(1_000, 15_000)),
        "consumer.session.timeout.ms": ("45000", whole_number(1_000, 60_000)),
    },
}
"""The same with brokers that allow groups short sessions."""

BROKERS_WORD = {
    "max.message.bytes": "message.max.bytes",
    "min.insync.replicas": "min.insync.replicas",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
}
"""A topic's configuration -> the broker's, which applies if the topic does not set its own."""


def in_force(configs: Configs, broker: int, topic: str, name: str) -> str:
    """Return the value by which a broker treats a topic."""
    return described(configs, (TOPIC, topic), name, broker)[0]


def described(configs: Configs, resource: Resource, name: str, broker: int) -> tuple[str, int]:
    """Return a value and its source, as described by a broker that knows these configurations."""
    kind, _ = resource
    if (own := configs.get(resource, {}).get(name)) is not None:
        return own, {TOPIC: OF_TOPIC, BROKER: OF_BROKER, GROUP: OF_GROUP}[kind] if resource[1] else OF_ALL_BROKERS
    for_brokers = BROKERS_WORD.get(name) if kind == TOPIC else name if kind == BROKER else None
    for source, of in ((OF_BROKER, str(broker)), (OF_ALL_BROKERS, "")):
        if for_brokers is not None and (found := configs.get((BROKER, of), {}).get(for_brokers)) is not None:
            return found, source
    return KNOWN[kind][name][0], DEFAULT


def refusal(kind: int, name: str, value: str | None, known: Known = KNOWN) -> Error:
    """Return the error of an invalid value."""
    if name not in known[kind]:
        return Error.INVALID_REQUEST if kind == BROKER else Error.INVALID_CONFIG
    return Error.NONE if value is not None and known[kind][name][1](value) else Error.INVALID_CONFIG


def altered(
    kind: int, before: Mapping[str, str], changes: Sequence[Plain], known: Known = KNOWN
) -> tuple[dict[str, str], Error]:
    """Return the values after the changes up to the first refused one, and its error."""
    after = dict(before)
    for change in changes:
        name, operation, value = change["name"], change["config_operation"], change["value"]
        if [one["name"] for one in changes].count(name) > 1:
            return after, Error.INVALID_REQUEST
        if operation == DELETE:
            if name not in known[kind]:
                return after, Error.INVALID_CONFIG
            after.pop(name, None)
            continue
        wanted = value if operation == SET else _relisted(operation, after.get(name), kind, name, value)
        if (error := refusal(kind, name, wanted, known)) is not Error.NONE:
            return after, error
        after[name] = str(wanted)
    return after, Error.NONE


def _relisted(operation: int, now: str | None, kind: int, name: str, value: str | None) -> str | None:
    """Return the list with items appended or subtracted; None if it is no list."""
    if name != "cleanup.policy" or value is None:
        return None
    items = (now or KNOWN[kind][name][0]).split(",")
    given = value.split(",")
    kept = [item for item in items if item not in given]
    return ",".join([*items, *(item for item in given if item not in items)] if operation == APPEND else kept)


__all__ = ["BROKER", "GROUP", "KNOWN", "TOPIC", "Configs", "Resource", "altered", "described", "in_force", "refusal"]
