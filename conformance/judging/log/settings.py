"""Settings of a partition's topic over time, from the requests that set them and the answers that describe them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Literal, NamedTuple

from conformance.judging.facts.topics import BROKER, TOPIC, ConfigDescription, Resource, ResourceChange
from conformance.judging.log.story import PartitionStory
from conformance.judging.timeline import (
    CLEANUP_POLICY,
    MIN_ISR,
    NEVER,
    RETENTION_BYTES,
    RETENTION_MS,
    UNCLEAN_ELECTION,
)

WEEK = 7 * 24 * 3_600_000
DEFAULTS = {
    UNCLEAN_ELECTION: "false",
    MIN_ISR: "1",
    CLEANUP_POLICY: "delete",
    RETENTION_MS: str(WEEK),
    RETENTION_BYTES: "-1",
}
CLUSTER = Resource(BROKER, "")
CLUSTER_KEYS = {key: f"log.{key}" for key in (CLEANUP_POLICY, RETENTION_MS, RETENTION_BYTES)}
"""The names of broker settings by their topic setting, if that has another name."""
SETTLED_AFTER = 30.0
"""Seconds after which requests of unknown outcome no longer take effect, and every broker has applied the settings."""
Owner = Literal["topic", "cluster"]


class SettingValue(NamedTuple):
    """A value of a setting, from the request that set it or the answer that described it; `text` is None if it is unset.

    `certain`: the value was acknowledged or described. Otherwise the outcome is unknown, and the value may come into force at any
    time up to `until`, the event at which a broker described another value.
    """

    asked: int
    answered: int
    text: str | None
    certain: bool
    until: int = NEVER


class ValueInForce(NamedTuple):
    """The value that is certainly in force, and its owner; `since` is the event of its request, or -1 for a default."""

    text: str
    owner: Owner
    since: int


class Setting:
    """The values of one setting: the topic's own, or else the cluster default.

    A refused request sets nothing. A description of the setting counts only if every earlier request that set it ended long
    before: a broker may not know the latest value yet.
    """

    def __init__(self, key: str, story: PartitionStory) -> None:
        self._timeline = story.timeline
        topic = Resource(TOPIC, story.name.rpartition("-")[0])
        keys = {topic: key, CLUSTER: CLUSTER_KEYS.get(key, key)}
        self._default = story.timeline.settings.get(keys[CLUSTER], DEFAULTS[key])
        self._own, self._cluster = list[SettingValue](), list[SettingValue]()
        for fact in story.timeline.configured:
            if isinstance(fact, ResourceChange):
                self._take_change(fact, topic, keys.get(fact.resource))
            elif isinstance(fact, ConfigDescription) and fact.resource == topic and key in fact.values:
                self._take_described(fact, topic, key)

    def _take_change(self, change: ResourceChange, topic: Resource, key: str | None) -> None:
        if key is not None and change.outcome != "refused" and (change.replaces or key in change.configs):
            values = self._own if change.resource == topic else self._cluster
            done = change.outcome == "done"
            # A topic that a request creates has its settings from the beginning, not those of the cluster until the answer.
            since = change.asked if done and change.kind == "create" else change.event
            values.append(SettingValue(change.asked, since, change.configs.get(key), done))

    def _take_described(self, described: ConfigDescription, topic: Resource, key: str) -> None:
        text, source = described.values[key]
        is_own = source == topic.own_source
        if self._is_over(self._own, described):
            _settle(self._own, SettingValue(described.asked, described.event, text if is_own else None, True))
        if not is_own and self._is_over(self._cluster, described):
            _settle(self._cluster, SettingValue(described.asked, described.event, text, True))

    def _is_over(self, values: Sequence[SettingValue], described: ConfigDescription) -> bool:
        """True if no request has set the setting, or if some have an unknown outcome and all ended long ago."""
        if all(value.certain for value in values):
            return not values
        since = max(value.answered for value in values)
        return self._timeline.time(described.asked) - self._timeline.time(since) > SETTLED_AFTER

    def possible_values(self, first: int, second: int) -> set[str]:
        """Return the values that may be in force at some time between two events."""
        own, cluster = (_possible(values, first, second) for values in (self._own, self._cluster))
        found = {text for text in own if text is not None}
        return found | {text or self._default for text in cluster} if None in own else found

    def first_in_force(self, does: Callable[[str], bool], since: int = -1) -> float:
        """Return the first event from `since` on after which a value that `does` accepts may be in force; infinite if none
        may."""
        asked = {value.asked for value in (*self._own, *self._cluster) if value.asked >= since}
        return next((one for one in sorted({since, *asked}) if any(map(does, self.possible_values(one, one + 1)))), inf)

    @property
    def change_events(self) -> set[int]:
        """The events after which other values may be in force than before."""
        return {turn for value in self._all_values for turn in (value.asked, _ends(value) + 1) if turn < NEVER}

    def in_force(self, event: int) -> ValueInForce | None:
        """Return the value in force at an event; None if a request of unknown outcome leaves it open."""
        if not all(value.certain or value.until < event for value in self._all_values if value.asked < event):
            return None
        own, cluster = _latest(self._own, event), _latest(self._cluster, event)
        if own is not None and own.text is not None:
            return ValueInForce(own.text, "topic", own.asked)
        if cluster is not None and cluster.text is not None:
            return ValueInForce(cluster.text, "cluster", cluster.asked)
        return ValueInForce(self._default, "cluster", -1)

    def ever_had(self, text: str) -> bool:
        return any(value.text == text for value in self._all_values)

    @property
    def _all_values(self) -> Sequence[SettingValue]:
        return (*self._own, *self._cluster)


def _settle(values: list[SettingValue], described: SettingValue) -> None:
    """Add a described value, after which earlier requests of unknown outcome no longer matter. If the described value differs
    from that of the last request, the request had no effect."""
    last = max((value.asked for value in values), default=-1)
    kept = [value for value in values if value.certain or value.asked < last or value.text == described.text]
    values[:] = [value if value.certain else value._replace(until=described.answered) for value in kept]
    values.append(described)


def _latest(values: Sequence[SettingValue], event: int) -> SettingValue | None:
    """Return the latest value that was acknowledged or described before an event; None without one."""
    return next((value for value in reversed(values) if value.certain and value.answered < event), None)


def _possible(values: Iterable[SettingValue], first: int, second: int) -> set[str | None]:
    known = _latest([*values], first)
    during = (value for value in values if value.asked < second and first <= _ends(value))
    return {known.text if known is not None else None, *(value.text for value in during)}


def _ends(value: SettingValue) -> int:
    """Return the event up to which a value is possible, besides values that were acknowledged later."""
    return value.answered if value.certain else value.until


unclean_election = partial(Setting, UNCLEAN_ELECTION)
"""The setting unclean.leader.election.enable of a partition's topic."""
min_insync_replicas = partial(Setting, MIN_ISR)
"""The setting min.insync.replicas of a partition's topic."""
cleanup_policy = partial(Setting, CLEANUP_POLICY)
"""The setting cleanup.policy of a partition's topic."""
_retention_ms = partial(Setting, RETENTION_MS)
_retention_bytes = partial(Setting, RETENTION_BYTES)


def possible_min_isr(story: PartitionStory, first: int = -1, second: int = NEVER) -> set[int]:
    """Return the values of min.insync.replicas that may have been in force between two events while the partition existed."""
    described = story.metadata[0].event if story.metadata else NEVER
    return {int(text) for text in story.derive(min_insync_replicas).possible_values(max(first, described), second)}


# --- settings by which records go


def compacted_from(story: PartitionStory) -> float:
    """Return the event after which the topic may have been compacted, which leaves permanent gaps between offsets; infinite if it
    never was."""
    return -1 if story.is_internal else story.derive(cleanup_policy).first_in_force(_compacts, _creation_event(story))


def may_be_compacted(story: PartitionStory, event: float) -> bool:
    """True if the topic may have been compacted before an event."""
    return story.derive(compacted_from) < event


class Retention:
    """The time in which old segments of a topic may be deleted: cleanup.policy is delete, and records reach the limit that is
    set. It begins after one event and ends with another; both are infinite if there is none."""

    def __init__(self, story: PartitionStory) -> None:
        self._policy = story.derive(cleanup_policy)
        self._limits = (story.derive(_retention_ms), _reaches_ms), (story.derive(_retention_bytes), str.isdecimal)
        turns = sorted(self._policy.change_events.union(*(setting.change_events for setting, _ in self._limits)))
        first = _creation_event(story)
        self.begins = next((one for one in (first, *turns) if one >= first and self._deletes(one, one + 1)), inf)
        self.ends = next((one for one in turns if one > self.begins and not self._deletes(one, NEVER)), inf)

    def _deletes(self, first: int, second: int) -> bool:
        """True if segments may be deleted at some time between two events."""
        reached = (any(map(does, setting.possible_values(first, second))) for setting, does in self._limits)
        return any("delete" in policy for policy in self._policy.possible_values(first, second)) and any(reached)


def _creation_event(story: PartitionStory) -> int:
    """Return the event after which a topic exists with the settings of its creation; -1 if it may have existed before."""
    if story.number > 0:
        return story.created_at
    topic = Resource(TOPIC, story.name.rpartition("-")[0])
    changes = (one for one in story.timeline.configured if isinstance(one, ResourceChange) and one.replaces)
    first = next((one for one in changes if one.resource == topic and one.outcome != "refused"), None)
    return first.asked + 1 if first is not None and (first.kind, first.outcome) == ("create", "done") else -1


def _compacts(policy: str) -> bool:
    return "compact" in policy


def _reaches_ms(text: str) -> bool:
    """True if records may become this many milliseconds old in an example: less than the default of a week. -1 stands for no
    limit."""
    return text.isdecimal() and int(text) < WEEK
