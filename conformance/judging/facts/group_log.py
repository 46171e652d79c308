"""Facts about the records of groups in the offsets topic, as its leader serves them."""

from base64 import b64decode
from collections.abc import Iterator, Mapping

import msgspec

from conformance.judging.facts.exchange import Attributed, Decoding, Exchange, decodes
from conformance.judging.facts.memberships import Places
from history.readings import GroupRecord, GroupRecords, ReadGroupLog
from protocol.assignments import assigned_in

GROUP, TARGET = "ConsumerGroupMetadata", "ConsumerGroupTargetAssignmentMetadata"
MEMBER, ASSIGNMENT, OFFSET = "ConsumerGroupMemberMetadata", "ConsumerGroupCurrentMemberAssignment", "OffsetCommit"
CLASSIC = "GroupMetadata"


class LoggedGroup(Exchange, frozen=True, gc=False):
    """The records of one group in a read of the partition that holds them, in their order.

    `is_whole` is false if the read lacks records, since they were compacted away. `topics` are as in `Decoding`.
    """

    is_whole: bool
    records: tuple[GroupRecord, ...]
    topics: Mapping[str, tuple[str, int]]


class LoggedMember(msgspec.Struct, frozen=True, gc=False):
    """A member in its newest record: its epoch, what it has and what it still has to give up, and its assignment epochs."""

    epoch: int
    assigned: Places
    pending: Places
    epochs: tuple[int, ...]

    @classmethod
    def from_record(cls, record: GroupRecord) -> "LoggedMember":
        value = record.value or {}
        listed = [value.get(name) or () for name in ("assigned_partitions", "partitions_pending_revocation")]
        assigned, pending = (
            frozenset([(str(topic["topic_id"]), one) for topic in topics for one in topic["partitions"]])
            for topics in listed
        )
        epochs = [epoch for topics in listed for topic in topics for epoch in topic.get("assignment_epochs") or ()]
        return cls(value["member_epoch"], assigned, pending, tuple(epochs))


@decodes(ReadGroupLog, about=["group"])
def _logged(request: ReadGroupLog, answer: GroupRecords, at: Decoding) -> Iterator[Attributed]:
    is_whole = [one.offset for one in answer.records] == [*range(answer.start, answer.end)]
    found: dict[str, list[GroupRecord]] = {}
    for record in answer.records:
        group = record.key.get("group_id") or record.key.get("group")
        if group:
            found.setdefault(str(group), []).append(record)
    for group, records in found.items():
        yield ("group", group, LoggedGroup(*at.exchange(), is_whole, tuple(records), {**at.topics_by_id}))


def classic_members(record: GroupRecord, topics: Mapping[str, tuple[str, int]]) -> dict[str, Places]:
    """Return the members of a classic group in the record of a generation, each with what it is assigned; none for a tombstone.

    A partition is named by the newest of `topics` with that name, or by its name, as in `Places`.
    """
    ids = {name: id for id, (name, _) in sorted(topics.items(), key=lambda one: one[1][1])}
    found: dict[str, Places] = {}
    for member in (record.value or {}).get("members") or ():
        assigned = assigned_in(b64decode(member["assignment"] or ""))
        found[member["member_id"]] = frozenset(
            [(ids.get(t, t), one) for t, indexes in assigned.items() for one in indexes]
        )
    return found
