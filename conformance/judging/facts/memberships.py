"""Facts about members of groups: heartbeats of the consumer protocol (KIP-848), requests of classic members, descriptions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from conformance.judging.facts.exchange import (
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    LostAnswer,
    decodes,
    name_of,
)
from conformance.judging.facts.topics import GROUP, OPEN
from history.readings import Assigned, Owned
from protocol.assignments import assigned_in, owned_in
from protocol.cluster import Metadata, MetadataAnswer
from protocol.configs import AlterConfigsAnswer, IncrementalAlterConfigs
from protocol.groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeMany,
    ConsumerGroupHeartbeat,
    DescribedGroup,
    DescribedGroups,
    GroupAnswer,
    Heartbeat,
    HeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    SyncGroup,
    SyncGroupAnswer,
    TopicPartitions,
)
from protocol.topics import CreateTopics, CreateTopicsAnswer, DeleteTopics, TopicResults

Places: TypeAlias = frozenset[tuple[str, int]]
"""Partitions by topic and index; a topic is named by its id, or by its name if the history does not tell the id."""


class Beat(Exchange, frozen=True, gc=False):
    """A ConsumerGroupHeartbeat; `error` is -1 if its outcome is unknown, -2 if it was never sent.

    `epoch`, `topics` and `owned` were sent, None for what has not changed; `given` is the assignment in the answer, None if the
    answer omits it, and `given_epoch` the member epoch in it.
    """

    member_id: str
    instance_id: str
    epoch: int
    topics: tuple[str, ...] | None
    owned: Places | None
    rebalance_timeout_ms: int
    error: int
    given_epoch: int
    given: Places | None


ClassicKind = Literal["join", "sync", "beat", "leave"]


class ClassicRequest(Exchange, frozen=True, kw_only=True, gc=False):
    """A JoinGroup, SyncGroup, Heartbeat or LeaveGroup of one classic member, as `Beat`.

    `generation` is that of the answer to a JoinGroup, else the one that was sent. `owned` is None if a JoinGroup names no
    partitions.
    """

    kind: ClassicKind
    member_id: str
    instance_id: str
    generation: int = -1
    error: int
    given: Places | None = None
    owned: Places | None = None
    session_timeout_ms: int = -1
    rebalance_timeout_ms: int = -1


class GroupDescription(Exchange, frozen=True, gc=False):
    """A broker's description of a group of the consumer protocol; `said.error` is its error.

    `wanted_by` has, by member id, the known partitions of all topics to which it is subscribed, by name or by a regular
    expression.
    """

    said: DescribedGroup
    wanted_by: Mapping[str, Places]

    @property
    def demand(self) -> Places:
        """The known partitions of all topics that members read."""
        return frozenset[tuple[str, int]]().union(*self.wanted_by.values())


class ClientPartitions(Exchange, frozen=True, gc=False):
    """The partitions that a client of its own has in a group, as it tells its application, by its member id.

    `lost` says that some are gone since the coordinator had removed it, or since it failed for good.
    """

    client: str
    member_id: str
    has: Places
    lost: bool


class GroupSettings(Exchange, frozen=True, gc=False):
    """Settings of a group that a request altered, or may have altered."""

    configs: Mapping[str, str | None]


def places(topics: Iterable[TopicPartitions]) -> Places:
    """Return the partitions that a heartbeat or a description names."""
    return frozenset([(str(topic.topic_id), partition) for topic in topics for partition in topic.partitions])


def _named_places(topics: Mapping[str, Iterable[int]], at: Decoding) -> Places:
    return frozenset([(at.topic_key(name), partition) for name, found in topics.items() for partition in found])


# --- clients of their own


@decodes(Owned, about=["group"])
def _client_partitions(request: Owned, answer: Assigned, at: Decoding) -> Iterator[Attributed]:
    has = frozenset([(at.topic_key(topic), partition) for topic, partition in answer.partitions])
    lost = request.how in ("lost", "failed")
    yield ("group", request.group, ClientPartitions(*at.exchange(), at.call.node, request.member_id, has, lost))


# --- the consumer protocol


@decodes(ConsumerGroupHeartbeat, about=["group"], lost=True)
def _beat(request: ConsumerGroupHeartbeat, answer: HeartbeatAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    given = None if isinstance(answer, LostAnswer) else answer.assignment
    fact = Beat(
        *at.exchange(),
        request.member_id or ("" if isinstance(answer, LostAnswer) else answer.member_id or ""),
        request.instance_id or "",
        request.member_epoch,
        _subscription(request),
        None if request.owned is None else places(request.owned),
        request.rebalance_timeout_ms,
        answer.error,
        -1 if isinstance(answer, LostAnswer) or answer.error != NONE else answer.member_epoch,
        None if given is None else places(given.topic_partitions),
    )
    yield ("group", request.group, fact)


def _subscription(request: ConsumerGroupHeartbeat) -> tuple[str, ...] | None:
    """Return the names that a heartbeat subscribes to, none by a regular expression alone; None if it changes nothing."""
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return None
    return tuple(request.subscribed_topic_names or ())


@decodes(ConsumerGroupDescribe, about=["group"])
def _described(request: ConsumerGroupDescribe, answer: DescribedGroup, at: Decoding) -> Iterator[Attributed]:
    yield ("group", request.group, GroupDescription(*at.exchange(), answer, _wanted_by(answer, at)))


@decodes(ConsumerGroupDescribeMany, about=["group"])
def _described_with_others(
    request: ConsumerGroupDescribeMany, answer: DescribedGroups, at: Decoding
) -> Iterator[Attributed]:
    for group in answer.groups:
        yield ("group", group.group_id, GroupDescription(*at.exchange(), group, _wanted_by(group, at)))


def _wanted_by(group: DescribedGroup, at: Decoding) -> dict[str, Places]:
    counts = at.partition_counts
    return {
        member.member_id: _named_places({name: range(counts[name]) for name in counts if member.reads(name)}, at)
        for member in group.members
    }


# --- the classic protocol


@decodes(JoinGroup, about=["group"], lost=True)
def _join(request: JoinGroup, answer: JoinGroupAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    owned = [owned_in(metadata) for metadata in request.protocols.values()]
    fact = ClassicRequest(
        *at.exchange(),
        kind="join",
        member_id=request.member_id or ("" if isinstance(answer, LostAnswer) else answer.member_id),
        instance_id=request.instance_id or "",
        generation=-1 if isinstance(answer, LostAnswer) else answer.generation_id,
        error=answer.error,
        owned=_named_places(owned[0], at) if owned and owned[0] is not None else None,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
    )
    yield ("group", request.group, fact)


@decodes(SyncGroup, about=["group"], lost=True)
def _sync(request: SyncGroup, answer: SyncGroupAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    given = None
    if not isinstance(answer, LostAnswer) and answer.error == NONE:
        given = _named_places(assigned_in(answer.assignment), at)
    yield ("group", request.group, _classic("sync", request, answer.error, at, given))


@decodes(Heartbeat, about=["group"], lost=True)
def _classic_beat(request: Heartbeat, answer: GroupAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    yield ("group", request.group, _classic("beat", request, answer.error, at))


@decodes(LeaveGroup, about=["group"], lost=True)
def _leave(request: LeaveGroup, answer: LeaveGroupAnswer | LostAnswer, at: Decoding) -> Iterator[Attributed]:
    own = () if isinstance(answer, LostAnswer) else [member.error for member in answer.members]
    yield ("group", request.group, _classic("leave", request, answer.error or next(iter(own), NONE), at))


def _classic(
    kind: ClassicKind,
    request: SyncGroup | Heartbeat | LeaveGroup,
    error: int,
    at: Decoding,
    given: Places | None = None,
) -> ClassicRequest:
    return ClassicRequest(
        *at.exchange(),
        kind=kind,
        member_id=request.member_id,
        instance_id=request.instance_id or "",
        generation=-1 if isinstance(request, LeaveGroup) else request.generation_id,
        error=error,
        given=given,
    )


# --- settings, and topics


@decodes(IncrementalAlterConfigs, about=["group"], lost=True)
def _settings(
    request: IncrementalAlterConfigs, answer: AlterConfigsAnswer | LostAnswer, at: Decoding
) -> Iterator[Attributed]:
    may_be_altered = answer.error == NONE or answer.error in OPEN or answer.error == UNKNOWN_OUTCOME
    if request.resource_type == GROUP and not request.validate_only and may_be_altered:
        yield ("group", request.resource_name, GroupSettings(*at.exchange(), dict(request.changes)))


@decodes(CreateTopics, about=["group", "partition"])
def _created(request: CreateTopics, answer: CreateTopicsAnswer, at: Decoding) -> Iterable[Attributed]:
    """Note the ids of topics."""
    for one in answer.topics:
        if one.error == NONE and one.topic_id:
            at.note_topic(one.name, one.topic_id)
    return ()


@decodes(Metadata, about=["group", "partition"])
def _seen(request: Metadata, answer: MetadataAnswer, at: Decoding) -> Iterable[Attributed]:
    """Note the ids of topics, and their numbers of partitions."""
    for one in answer.topics:
        if one.name and one.topic_id and one.error == NONE:
            at.note_topic(one.name, one.topic_id)
            at.partition_counts[one.name] = len(one.partitions)
    return ()


@decodes(DeleteTopics, about=["group"], lost=True)
def _deleted(request: DeleteTopics, answer: TopicResults | LostAnswer, at: Decoding) -> Iterable[Attributed]:
    """Forget the numbers of partitions of topics that may be deleted."""
    for topic in request.topics:
        at.partition_counts.pop(name_of(topic), None)
    return ()
