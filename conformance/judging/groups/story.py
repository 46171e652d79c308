"""The story of a group: heartbeats, requests of classic members, commits, fetches, descriptions, and the group's settings."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, ClassVar

from conformance.catalogue import Facts, shipped_rows
from conformance.catalogue.applicability import applies
from conformance.judging.excuses import OFFSETS_LOST, STALE_COORDINATOR, Evidence
from conformance.judging.facts.exchange import Exchange
from conformance.judging.facts.group_log import LoggedGroup
from conformance.judging.facts.groups import GroupFetch, OffsetCommitResult
from conformance.judging.facts.memberships import (
    Beat,
    ClassicRequest,
    ClientPartitions,
    GroupDescription,
    GroupSettings,
)
from conformance.judging.log.committed_offsets import OFFSETS_TOPIC
from conformance.judging.story import Story
from conformance.judging.timeline import FaultSpan, Timeline
from history.subjects import Kind

SESSION_OF_BROKERS, SESSION = "group.consumer.session.timeout.ms", "consumer.session.timeout.ms"
"""The setting of brokers, and that of a group."""
DEFAULT_SESSION_MS = 45_000
KEEPS_EPOCHS = "KIP1251-PERSIST-01"
"""The row of all releases that keep assignment epochs."""
SAFE_SHARE = 0.9
"""The share of a member's timeout during which it is certainly not over, whatever the coordinator's clock."""
PARTITIONS_OF_LOG = "offsets.topic.num.partitions"


class GroupStory(Story):
    """One group; the lists are in the order of the answers."""

    kind: ClassVar[Kind] = "group"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.beats: list[Beat] = []
        self.classic: list[ClassicRequest] = []
        self.commits: list[OffsetCommitResult] = []
        self.fetches: list[GroupFetch] = []
        self.described: list[GroupDescription] = []
        self.altered: list[GroupSettings] = []
        self.logs: list[LoggedGroup] = []
        self.clients: list[ClientPartitions] = []

    _TAKES: ClassVar[dict[type[Any], Callable[["GroupStory", Any], None]]] = {
        Beat: lambda story, fact: story.beats.append(fact),
        ClassicRequest: lambda story, fact: story.classic.append(fact),
        OffsetCommitResult: lambda story, fact: story.commits.append(fact),
        GroupFetch: lambda story, fact: story.fetches.append(fact),
        GroupDescription: lambda story, fact: story.described.append(fact),
        GroupSettings: lambda story, fact: story.altered.append(fact),
        LoggedGroup: lambda story, fact: story.logs.append(fact),
        ClientPartitions: lambda story, fact: story.clients.append(fact),
    }

    def add_fact(self, fact: Any) -> None:
        self._TAKES[type(fact)](self, fact)

    @cached_property
    def session_seconds(self) -> float:
        """The shortest session timeout that a member of the consumer protocol may have had."""
        settings = [self.timeline.settings.get(SESSION_OF_BROKERS), *(one.configs.get(SESSION) for one in self.altered)]
        return min([int(value) for value in settings if value is not None] or [DEFAULT_SESSION_MS]) / 1000

    def _is_own(self, partition: str) -> bool:
        """True if this partition holds the group's records or, where the number of partitions is not known, may hold them."""
        count = self.timeline.settings.get(PARTITIONS_OF_LOG)
        return partition.startswith(OFFSETS_TOPIC) and (
            count is None or partition == f"{OFFSETS_TOPIC}-{abs(java_hash(self.name)) % int(count)}"
        )

    # --- what a fault may have changed

    def why_forgotten(self, first: Exchange, second: Exchange) -> Evidence | None:
        """Return the evidence by which the coordinator that gave the second answer may not know the first; None without any."""
        spans = self.timeline.active_faults(first.asked, second.event)
        if any(self._may_lose(span, {first.node, second.node}) for span in spans):
            return OFFSETS_LOST
        return STALE_COORDINATOR if self._is_stale(second) else None

    def may_have_lost_records(self, event: int) -> bool:
        """True if a fault before an event elected the group's partition uncleanly, or damaged any replica of it."""
        spans = (span for span in self.timeline.spans if span.began < event)
        return any(self._may_lose(span, span.nodes) for span in spans)

    def _may_lose(self, span: FaultSpan, nodes: Iterable[str]) -> bool:
        """True if the fault elected the group's partition uncleanly, or damaged it on one of these nodes."""
        if not (span.effects.every_partition or self._is_own(span.partition)):
            return False
        return span.effects.elects_uncleanly or (span.effects.damages_log and not {*nodes}.isdisjoint(span.nodes))

    def _is_stale(self, answer: Exchange) -> bool:
        """True if a fault delays what the controllers tell the node that answered, so it may still take itself for the
        coordinator."""
        return any(self._delays(span, answer.node) for span in self.timeline.active_faults(answer.asked, answer.event))

    def may_lack_topics(self, answer: Exchange) -> bool:
        """True if topics changed since a fault began to delay what the controllers tell the node that answered."""
        return any(
            self._delays(span, answer.node)
            and any(span.began < change < answer.event for change in self.timeline.topic_changes)
            for span in self.timeline.active_faults(answer.asked, answer.event)
        )

    def _delays(self, span: FaultSpan, node: str) -> bool:
        """True if a fault delays what the controllers tell a node."""
        return span.effects.may_delay_messages and (
            node in span.nodes
            or span.effects.every_broker
            or not (span.effects.idles_processes or self.timeline.broker_names.issuperset(span.nodes))
        )

    def kept_no_epochs(self, answer: Exchange) -> bool:
        """True if the node that answered ran a release that keeps no assignment epochs (KIP1251-PERSIST-02)."""
        release = self.timeline.other_release(answer.node, answer.event)
        return bool(release) and not applies(Facts(version=release), shipped_rows()[KEEPS_EPOCHS].applies, ())

    def seconds(self, first: int, second: int) -> float:
        """Return the seconds between two events."""
        return self.timeline.time(second) - self.timeline.time(first)

    def is_fail_over(self, first: Exchange, second: Exchange) -> bool:
        """True if another broker, or another process of the same one, gave the second answer."""
        incarnation = self.timeline.incarnation
        return first.node != second.node or (
            incarnation(first.node, first.event) != incarnation(second.node, second.event)
        )

    def may_have_loaded_again(self, first: Exchange, second: Exchange) -> bool:
        """True if the coordinator that gave the second answer may have loaded the group since the first one: it is another one,
        or a fault hit it in between."""
        between = self.timeline.faults_between(first.asked, second.event)
        return self.is_fail_over(first, second) or any(second.node in phase.nodes for phase in between)


def java_hash(text: str) -> int:
    """Return what Java's String.hashCode gives, from which Kafka derives the partition of a group's records."""
    code = 0
    for unit in text.encode("utf-16-be").hex(" ", 2).split():
        code = (31 * code + int(unit, 16)) & 0xFFFFFFFF
    return code - (code >> 31 << 32)
