"""Facts about offsets that groups commit, and about records that consumers receive."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from conformance.judging.facts.exchange import (
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    LostAnswer,
    decodes,
    name_of,
    partition_of,
)
from history import readings
from protocol.groups import CommittedOffset, NewOffset, OffsetCommit, OffsetCommitAnswer, OffsetFetch, OffsetFetchAnswer
from protocol.messages import PartitionAnswer, Topic
from protocol.since import since
from protocol.transactions import TxnOffsetCommit, TxnOffsetCommitAnswer

COMMITS_EPOCH_FROM = since("OffsetCommitRequest", "CommittedLeaderEpoch")
SHOWS_EPOCH_FROM = since("OffsetFetchResponse", "CommittedLeaderEpoch")
"""The versions of OffsetCommit and OffsetFetch from which the leader epoch is on the wire."""


class OffsetCommitResult(Exchange, frozen=True, gc=False):
    """An OffsetCommit or TxnOffsetCommit of one partition; `error` is -1 if its outcome is unknown, -2 if it was never sent.

    An offset in a transaction takes effect when the transaction commits, which this fact does not know: its `error` is -1, and
    `accepted` is the coordinator's answer. Member and member epoch (or generation) are from the request.
    """

    group: str
    topic: str
    partition: int
    offset: int
    epoch: int
    error: int
    accepted: int
    member_id: str
    member_epoch: int
    instance_id: str = ""
    transactional_id: str | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    version: int = -1
    topic_key: str = ""
    """The topic's id as text, or its name if the history does not tell the id."""

    @property
    def place(self) -> tuple[str, int]:
        return self.topic_key, self.partition


class FetchedOffset(Exchange, frozen=True, gc=False):
    """An OffsetFetch of one partition; the offset is -1 if none is committed. `stable`: requested with RequireStable."""

    group: str
    offset: int
    epoch: int
    stable: bool


class OffsetInGroupFetch(msgspec.Struct, frozen=True, gc=False):
    """The part of an OffsetFetch answer about one partition; `topic_key` is as in `OffsetCommitResult`."""

    topic: str
    topic_key: str
    partition: int
    error: int
    offset: int
    epoch: int

    @property
    def place(self) -> tuple[str, int]:
        return self.topic_key, self.partition


class GroupFetch(Exchange, frozen=True, gc=False):
    """An OffsetFetch of a group by a member at its epoch, or without a member; `error` is the group's."""

    member_id: str
    member_epoch: int
    stable: bool
    version: int
    error: int
    partitions: tuple[OffsetInGroupFetch, ...]


class ConsumedRecord(msgspec.Struct, frozen=True, gc=False):
    """A record that a consumer delivered to its application; a `session` lasts from one assignment to the next.

    `since` is the event at which the session began; the consumer may have fetched the record at any time after it. `group` is
    the consumer's group, if it has one; `assignments` counts the assignments of the group's members so far.
    """

    event: int
    consumer: str
    session: int
    since: int
    offset: int
    epoch: int
    value: bytes | None
    group: str | None = None
    assignments: int = 0


class ReaderStep(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A step of the kit's own epoch-aware reader: `deliver` records (offset, epoch, value), `rewind` or `restart`.

    `to` is the reader's position after the step, `truncation` the (epoch, end offset) that the leader reported.
    """

    event: int
    reader: str
    op: str
    to: int
    truncation: tuple[int, int] | None = None
    records: tuple[tuple[int, int, bytes | None], ...] = ()


# --- offsets


@decodes(OffsetCommit, about=["partition", "group"], lost=True)
def _offset_commit(
    request: OffsetCommit, answer: OffsetCommitAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    """Yield the commit of each partition. A consumer does not report the version of its request, which is a recent one."""
    has_epoch = answer.version < 0 or answer.version >= COMMITS_EPOCH_FROM
    for wanted in request.offsets:
        error = _error_of(wanted, answer)
        fact = OffsetCommitResult(
            *at.exchange(),
            request.group,
            name_of(wanted.topic),
            wanted.partition,
            wanted.offset,
            wanted.leader_epoch if has_epoch else -1,
            error,
            accepted=error,
            member_id=request.member_id,
            member_epoch=request.epoch,
            instance_id=request.instance_id or "",
            version=answer.version,
            topic_key=_key_of(wanted.topic, at),
        )
        if error == NONE:
            at.with_commits.setdefault(request.group, set()).add((fact.topic, fact.partition))
        yield ("partition", partition_of(wanted), fact)
        yield ("group", request.group, fact)


@decodes(TxnOffsetCommit, about=["partition", "transactional-id", "group"], lost=True)
def _txn_offset_commit(
    request: TxnOffsetCommit, answer: TxnOffsetCommitAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    for wanted in request.offsets:
        fact = OffsetCommitResult(
            *at.exchange(),
            request.group_id,
            name_of(wanted.topic),
            wanted.partition,
            wanted.offset,
            wanted.leader_epoch,
            error=UNKNOWN_OUTCOME,
            accepted=_error_of(wanted, answer),
            member_id=request.member_id,
            member_epoch=request.generation_id_or_member_epoch,
            instance_id=request.group_instance_id or "",
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            version=answer.version,
            topic_key=_key_of(wanted.topic, at),
        )
        yield ("partition", partition_of(wanted), fact)
        yield ("transactional-id", request.transactional_id, fact)
        yield ("group", request.group_id, fact)


def _key_of(topic: Topic | str, at: Decoding) -> str:
    known = None if isinstance(topic, str) else topic.id
    return at.topic_key(name_of(topic)) if known is None else str(known)


def _error_of(wanted: NewOffset, answer: OffsetCommitAnswer | TxnOffsetCommitAnswer | LostAnswer) -> int:
    """Return the error of one partition of an OffsetCommit; UNKNOWN_OUTCOME if the answer lacks the partition."""
    names = (name_of(wanted.topic), None)
    parts: Sequence[PartitionAnswer] = answer.partitions
    own = (one.error for one in parts if one.partition == wanted.partition and one.topic in names)
    return next(own, answer.error if isinstance(answer, LostAnswer) else UNKNOWN_OUTCOME)


@decodes(OffsetFetch, about=["partition"])
def _offset_fetch(request: OffsetFetch, answer: OffsetFetchAnswer, at: Decoding) -> Iterator[Attributed]:
    """Yield the offset of each partition. An answer about all partitions has no offset of those that it lacks."""
    if answer.error != NONE or answer.version < SHOWS_EPOCH_FROM:
        return
    names = {topic.id: topic.name for topic, _ in request.partitions or ()}
    shown = [(one.topic or names.get(one.topic_id) or at.name_of(one.topic_id), one) for one in answer.partitions]
    if request.partitions is None and all(topic for topic, _ in shown):
        missing = at.with_commits.get(request.group, set()) - {(topic, one.partition) for topic, one in shown}
        shown += [(topic, CommittedOffset(version=answer.version, partition=index)) for topic, index in sorted(missing)]
    for topic, one in shown:
        if one.error == NONE and topic:
            fact = FetchedOffset(*at.exchange(), request.group, one.offset, one.leader_epoch, request.require_stable)
            yield ("partition", f"{topic}-{one.partition}", fact)


@decodes(OffsetFetch, about=["group"])
def _group_fetch(request: OffsetFetch, answer: OffsetFetchAnswer, at: Decoding) -> Iterator[Attributed]:
    """Yield the whole answer, refusals among it."""
    topics = [topic for topic, _ in request.partitions or ()]
    names = {topic.id: topic.name for topic in topics}
    keys = {topic.name: _key_of(topic, at) for topic in topics}
    found = [
        OffsetInGroupFetch(
            one.topic or names.get(one.topic_id, ""),
            str(one.topic_id) if one.topic is None else keys.get(one.topic, at.topic_key(one.topic)),
            one.partition,
            one.error,
            one.offset,
            one.leader_epoch,
        )
        for one in answer.partitions
    ]
    asked = request.member_id or "", request.epoch, request.require_stable, answer.version
    yield ("group", request.group, GroupFetch(*at.exchange(), *asked, answer.error, tuple(found)))


# --- consumers


@decodes(readings.Assignment, about=["partition"])
def _begin_session(request: readings.Assignment, answer: readings.Assigned, at: Decoding) -> Iterable[Attributed]:
    """Begin another session of a consumer that was assigned partitions or rebalanced."""
    at.sessions.setdefault(at.call.node, []).append(at.answer.n)
    if request.group is not None:
        at.groups[at.call.node] = request.group
    return ()


@decodes(readings.Poll, about=["partition"])
def _poll(request: readings.Poll, answer: readings.Polled, at: Decoding) -> Iterator[Attributed]:
    node = at.call.node
    sessions, group = at.sessions.get(node, []), at.groups.get(node)
    session, since = len(sessions), sessions[-1] if sessions else 0
    assignments = sum(len(found) for member, found in at.sessions.items() if at.groups.get(member) == group)
    for one in answer.records:
        record = (one.offset, one.leader_epoch, one.value)
        fact = ConsumedRecord(at.answer.n, node, session, since, *record, group, assignments)
        yield ("partition", partition_of(one), fact)


@decodes(readings.ReaderDelivery, readings.ReaderRewind, readings.ReaderRestart, about=["partition"])
def _reader_step(
    request: readings.ReaderDelivery | readings.ReaderRewind | readings.ReaderRestart,
    answer: readings.Position,
    at: Decoding,
) -> Iterator[Attributed]:
    fact = ReaderStep(event=at.answer.n, reader=at.call.node, op=at.call.op, to=answer.offset)
    match request:
        case readings.ReaderDelivery():
            records = tuple([(one.offset, one.epoch, one.value) for one in request.records])
            fact = msgspec.structs.replace(fact, records=records)
        case readings.ReaderRewind():
            fact = msgspec.structs.replace(fact, truncation=(request.told.epoch, request.told.end_offset))
    yield ("partition", partition_of(request), fact)
