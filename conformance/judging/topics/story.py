"""The story of each resource that a history administers: the requested changes, their outcomes, and the brokers' descriptions.

A resource is a topic, one broker, all brokers (their cluster default) or a consumer group.
"""

from typing import ClassVar

import msgspec

from conformance.judging.excuses import SENT_TWICE
from conformance.judging.facts.topics import (
    ConfigDescription,
    ResourceChange,
    TopicDescription,
    TopicProduce,
)
from conformance.judging.story import Story
from conformance.judging.timeline import Timeline
from history.subjects import Kind
from protocol.codes import Error


class ResourceStory(Story):
    """One resource; the lists are in the order of the answers."""

    kind: ClassVar[Kind] = "resource"

    def __init__(self, name: str, timeline: Timeline) -> None:
        super().__init__(name, timeline)
        self.changes: list[ResourceChange] = []
        self.seen: list[TopicDescription] = []
        self.described: list[ConfigDescription] = []
        self.appended: list[TopicProduce] = []

    def add_fact(self, fact: ResourceChange | TopicDescription | ConfigDescription | TopicProduce) -> None:
        match fact:
            case ResourceChange():
                self.changes.append(self._with_outcome(fact))
            case TopicDescription():
                self.seen.append(fact)
            case ConfigDescription():
                self.described.append(fact)
            case TopicProduce():
                self.appended.append(fact)

    # --- outcomes

    def _with_outcome(self, change: ResourceChange) -> ResourceChange:
        """Return the change with its outcome.

        A refusal leaves the outcome open if a fault may have lost the answer to a first copy of the request, which took effect.
        Without such a fault, or if the topic was already known to be in the state that the refusal reports, it is definite.
        """
        before = self._partitions_before(change.asked)
        explained: dict[int, bool] = {
            Error.TOPIC_ALREADY_EXISTS: change.kind != "create" or (before is not None and before > 0),
            Error.INVALID_PARTITIONS: change.kind != "grow" or (before is not None and before >= change.partitions),
            Error.UNKNOWN_TOPIC_OR_PARTITION: change.kind != "delete" or before == 0,
            Error.UNKNOWN_TOPIC_ID: change.kind != "delete" or before == 0,
        }
        if explained.get(change.error, True) or not self.may_be_sent_twice(change):
            return change
        return msgspec.structs.replace(change, outcome="open", left_open=SENT_TWICE)

    def _partitions_before(self, event: int) -> int | None:
        """Return the number of partitions of a topic, 0 without a topic; None if a request of open outcome leaves it unknown."""
        count = 0
        for change in self.possible_changes(event):
            if change.outcome == "open" and change.kind != "configure":
                return None
            if change.kind != "configure":
                count = 0 if change.kind == "delete" else change.partitions
        return count

    def may_be_sent_twice(self, change: ResourceChange) -> bool:
        """True if a fault delayed messages of a controller, or of the requested broker, while the request was under way, so that
        the broker may have forwarded it again."""
        spans = (
            span for span in self.timeline.active_faults(change.asked, change.event) if span.effects.may_delay_messages
        )
        hit = {node for span in spans for node in span.nodes}
        return change.node in hit or not hit <= self.timeline.broker_names

    def possible_changes(self, event: int) -> list[ResourceChange]:
        """Return the changes that may have taken effect before an answer: requested before it and not refused."""
        return [change for change in self.changes if change.asked < event and change.outcome != "refused"]

    def refusals(self) -> list[ResourceChange]:
        """Return the refused changes, including those of which an earlier copy may have taken effect."""
        return [change for change in self.changes if change.outcome == "refused" or change.left_open == SENT_TWICE]

    # --- configuration

    def acknowledged_changes(self, asked: int) -> dict[str, ResourceChange]:
        """Return the last acknowledged change of each key.

        The creation of a topic also changes each key that an earlier topic of its name had.
        """
        found: dict[str, ResourceChange] = {}
        former: set[str] = set()
        for change in self.possible_changes(asked):
            if change.outcome == "done":
                if change.replaces:
                    former |= found.keys()
                    found = dict.fromkeys(former, change) if change.kind == "create" else {}
                found |= dict.fromkeys(change.configs, change)
        return found

    def rivals(self, asked: int, key: str) -> list[ResourceChange]:
        """Return the changes of open outcome that may have changed a key or may still do so, even after a later change."""
        before = [change for change in self.possible_changes(asked) if change.outcome == "open"]
        return [change for change in before if change.replaces or key in change.configs]

    def last_described(self, change: ResourceChange, answer: ConfigDescription, key: str) -> str | None:
        """Return the value of a key as the process that answers described it last before a change.

        It is None if there is no such description, or if another change may have taken effect since.
        """
        others = [
            one
            for one in self.possible_changes(answer.asked)
            if one is not change and (one.replaces or key in one.configs)
        ]
        since = max((one.event for one in others), default=-1)
        earlier = [one for one in self.described if one.event < change.asked and _same_process(one, answer)]
        known = bool(earlier) and earlier[-1].asked > since and earlier[-1].shows(key)
        return earlier[-1].own_value(key) if known else None

    # --- topics of one name

    def visible_changes(self, answer: TopicDescription | ConfigDescription) -> list[ResourceChange]:
        """Return the changes that a broker's answer may show. Changes that ended before the creation of the topic that the broker
        knew do not count.

        A broker knows a topic once it has answered with the topic's id. A request of open outcome may take effect at any time.
        """
        known = self._known_creation(answer)
        return [
            change
            for change in self.possible_changes(answer.asked)
            if change.outcome == "open"
            or ((known is None or change.event >= known.asked) and not _is_about_another_topic(change, answer))
        ]

    def _known_creation(self, answer: TopicDescription | ConfigDescription) -> ResourceChange | None:
        """Return the creation of the latest topic of that name whose id the broker had answered with; None without one."""
        before = (one for one in self.seen if one is answer or one.event < answer.asked)
        ids = {one.topic_id for one in before if _same_process(one, answer)}
        created = (change for change in reversed(self.changes) if change.kind == "create")
        return next((change for change in created if change.topic_id in ids - {None}), None)

    def is_accounted_for(self, seen: TopicDescription, refused: ResourceChange) -> bool:
        """True if the answer shows the topic of an acknowledged creation, or one that existed before the refused request.

        A creation in a version whose answer has no topic id accounts for any topic.
        """
        earlier = {one.topic_id for one in self.seen if one.event < refused.asked}
        created = {one.topic_id for one in self.changes if one.kind == "create" and one.outcome == "done"}
        return seen.topic_id is None or None in created or seen.topic_id in earlier | created

    def is_at_rest(self, asked: int) -> bool:
        """True if every fault was healed before, and all brokers described the acknowledged changes or the bound for that had
        passed."""
        return 0 <= max(self.timeline.rest, self.timeline.disagreed) < asked


def _same_process(one: TopicDescription | ConfigDescription, other: TopicDescription | ConfigDescription) -> bool:
    return (one.node, one.incarnation) == (other.node, other.incarnation)


def _is_about_another_topic(change: ResourceChange, answer: TopicDescription | ConfigDescription) -> bool:
    topic_id = answer.topic_id if isinstance(answer, TopicDescription) else None
    return bool(change.topic_id and topic_id and change.topic_id != topic_id)
