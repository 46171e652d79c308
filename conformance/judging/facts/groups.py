"""Facts about groups and their members: joins, heartbeats, assignments, committed offsets, and records that consumers got."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from conformance.judging.facts.exchange import (
    NEVER_SENT,
    NONE,
    UNKNOWN_OUTCOME,
    Attributed,
    Decoding,
    Exchange,
    decodes,
    error_of,
    name_of,
    partition_of,
    version_of,
)
from history.events import Answer, Call
from protocol.since import since

COMMITS_EPOCH_FROM = since("OffsetCommitRequest", "CommittedLeaderEpoch")
SHOWS_EPOCH_FROM = since("OffsetFetchResponse", "CommittedLeaderEpoch")
"""The versions of OffsetCommit and OffsetFetch from which the leader epoch is on the wire."""


class OffsetCommit(Exchange, frozen=True, gc=False):
    """OffsetCommit or TxnOffsetCommit of one partition; `error` is -1 where the outcome is unknown, -2 where it never left.

    The offset of a transaction shows once that is committed, which is not looked up here: its `error` is -1, and `accepted`
    what the coordinator answered. Member, and member epoch or generation, are those of the request.
    """

    group: str
    topic: str
    partition: int
    offset: int
    epoch: int
    error: int
    member_id: str = ""
    member_epoch: int = -1
    instance_id: str = ""
    transactional_id: str | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    accepted: int = UNKNOWN_OUTCOME
    version: int = -1


class FetchedOffset(Exchange, frozen=True, gc=False):
    """An OffsetFetch of one partition; offset -1 for none. `stable`: it waits for open transactions to end."""

    group: str
    offset: int
    epoch: int
    stable: bool


class GroupHeartbeat(Exchange, frozen=True, gc=False):
    """ConsumerGroupHeartbeat (KIP-848): the epoch that was sent, and the member and assignment as answered.

    Assignments are (topic id, partition); None where the request or the answer left them out.
    """

    group: str
    sent_member_id: str
    sent_epoch: int
    instance_id: str | None
    owned: tuple[tuple[str, int], ...] | None
    error: int
    member_id: str
    member_epoch: int
    assignment: tuple[tuple[str, int], ...] | None


class GroupDescription(Exchange, frozen=True, gc=False):
    """A ConsumerGroupDescribe answer without an error (KIP-848): a group's state and epochs, and its members' epochs."""

    group: str
    state: str
    epoch: int
    assignment_epoch: int
    member_epochs: tuple[int, ...]


class JoinedGroup(Exchange, frozen=True, gc=False):
    """JoinGroup: the generation, its leader, and to that leader all members."""

    group: str
    sent_member_id: str
    instance_id: str | None
    error: int
    member_id: str
    generation: int
    leader: str
    protocol: str | None
    members: tuple[str, ...]


class SyncedGroup(Exchange, frozen=True, gc=False):
    """SyncGroup, with the assignment in the protocol's bytes (base64)."""

    group: str
    member_id: str
    generation: int
    error: int
    assignment: str


class ClassicHeartbeat(Exchange, frozen=True, gc=False):
    """Heartbeat or LeaveGroup (`leaves`) of a member of the classic protocol; LeaveGroup names no generation."""

    group: str
    member_id: str
    generation: int
    error: int
    leaves: bool


class ConsumedRecord(msgspec.Struct, frozen=True, gc=False):
    """A record that a consumer handed to its application; a `session` lasts from one assignment to the next.

    `since` is the event at which its session began: the consumer may have fetched the record at any time since then. `grouped`:
    its partitions are assigned by a group. `assignments` counts those of all consumers so far.
    """

    event: int
    consumer: str
    session: int
    since: int
    offset: int
    epoch: int
    value: str | None
    grouped: bool = False
    assignments: int = 0


class ReaderStep(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A step of the kit's own epoch-aware reader: `deliver` records (offset, epoch, value), `rewind` or `restart`.

    `to` is its position after it, `truncation` the (epoch, end offset) that it was given.
    """

    event: int
    reader: str
    op: str
    to: int
    truncation: tuple[int, int] | None
    records: tuple[tuple[int, int, str | None], ...]


# --- offsets


@decodes("offset_commit", about=["partition", "group"])
def _offset_commit(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    spoken = answer.value.get("version", COMMITS_EPOCH_FROM) if answer.outcome == "ok" else COMMITS_EPOCH_FROM
    for wanted in request["offsets"]:
        error = _error_of(answer, wanted)
        yield from _committing(
            call,
            answer,
            at,
            wanted,
            epoch=wanted["leader_epoch"] if spoken >= COMMITS_EPOCH_FROM else -1,
            error=error,
            accepted=error,
            member_id=request.get("member_id", ""),
            member_epoch=request.get("epoch", -1),
        )


@decodes("txn_offset_commit", about=["partition", "group", "transactional-id"])
def _txn_offset_commit(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    for wanted in request["offsets"]:
        yield from _committing(
            call,
            answer,
            at,
            wanted,
            epoch=wanted["leader_epoch"],
            error=UNKNOWN_OUTCOME,
            accepted=_error_of(answer, wanted),
            member_id=request["member_id"],
            member_epoch=request["generation_id_or_member_epoch"],
            instance_id=request["group_instance_id"] or "",
            transactional_id=request["transactional_id"],
            producer_id=request["producer_id"],
            producer_epoch=request["producer_epoch"],
            version=version_of(call, answer),
        )


def _committing(
    call: Call, answer: Answer, at: Decoding, wanted: dict[str, Any], **fields: Any
) -> Iterator[Attributed]:
    fact = OffsetCommit(
        *at.exchange(call, answer),
        group=call.request.get("group") or call.request["group_id"],
        topic=name_of(wanted["topic"]),
        partition=wanted["partition"],
        offset=wanted["offset"],
        **fields,
    )
    yield ("partition", partition_of(wanted), fact)
    yield ("group", fact.group, fact)
    if fact.transactional_id is not None:
        yield ("transactional-id", fact.transactional_id, fact)


def _error_of(answer: Answer, wanted: dict[str, Any]) -> int:
    """The error of one partition of an OffsetCommit."""
    if answer.outcome != "ok":
        return NEVER_SENT if answer.outcome == "fail" else UNKNOWN_OUTCOME
    name = name_of(wanted["topic"])
    for one in answer.value["partitions"]:
        if one["partition"] == wanted["partition"] and one["topic"] in (name, None):
            return int(one["error_code"])
    return UNKNOWN_OUTCOME


@decodes("offset_fetch", about=["partition", "group"])
def _offset_fetch(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    if answer.outcome != "ok" or answer.value["error_code"] != NONE:
        return
    if answer.value.get("version", SHOWS_EPOCH_FROM) < SHOWS_EPOCH_FROM:
        return
    names = {_id_of(topic): name_of(topic) for topic, _ in call.request["partitions"] or ()}
    for one in answer.value["partitions"]:
        topic = one["topic"] if one["topic"] is not None else names.get(one["topic_id"])
        if one["error_code"] == NONE and topic is not None:
            fact = FetchedOffset(
                *at.exchange(call, answer),
                group=call.request["group"],
                offset=one["committed_offset"],
                epoch=one["committed_leader_epoch"],
                stable=call.request["require_stable"],
            )
            yield ("partition", f"{topic}-{one['partition']}", fact)
            yield ("group", fact.group, fact)


def _id_of(topic: Any) -> Any:
    return None if isinstance(topic, str) else topic["id"]


# --- members


@decodes("consumer_group_heartbeat", about=["group", "member"])
def _heartbeat(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    value = answer.value if answer.outcome == "ok" else {}
    assigned = value.get("assignment")
    fact = GroupHeartbeat(
        *at.exchange(call, answer),
        group=request["group"],
        sent_member_id=request["member_id"],
        sent_epoch=request["member_epoch"],
        instance_id=request["instance_id"],
        owned=_partitions(request["owned"]),
        error=error_of(answer),
        member_id=value.get("member_id") or request["member_id"],
        member_epoch=value.get("member_epoch", -1),
        assignment=_partitions(assigned["topic_partitions"]) if assigned is not None else None,
    )
    yield from _of_member(fact.group, fact.member_id, fact)


def _partitions(topics: list[dict[str, Any]] | None) -> tuple[tuple[str, int], ...] | None:
    return (
        None if topics is None else tuple([(one["topic_id"], index) for one in topics for index in one["partitions"]])
    )


@decodes("consumer_group_describe", about=["group", "description"])
def _group_description(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    if error_of(answer) != NONE:
        return
    value = answer.value
    fact = GroupDescription(
        *at.exchange(call, answer),
        group=call.request["group"],
        state=value["group_state"],
        epoch=value["group_epoch"],
        assignment_epoch=value["assignment_epoch"],
        member_epochs=tuple([one["member_epoch"] for one in value["members"]]),
    )
    yield ("group", fact.group, fact)
    yield ("description", fact.group, fact)


@decodes("join_group", about=["group", "member"])
def _join_group(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    value = answer.value if answer.outcome == "ok" else {}
    fact = JoinedGroup(
        *at.exchange(call, answer),
        group=request["group"],
        sent_member_id=request["member_id"],
        instance_id=request["instance_id"],
        error=error_of(answer),
        member_id=value.get("member_id") or request["member_id"],
        generation=value.get("generation_id", -1),
        leader=value.get("leader", ""),
        protocol=value.get("protocol_name"),
        members=tuple([one["member_id"] for one in value.get("members", ())]),
    )
    yield from _of_member(fact.group, fact.member_id, fact)


@decodes("sync_group", about=["group", "member"])
def _sync_group(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    fact = SyncedGroup(
        *at.exchange(call, answer),
        group=request["group"],
        member_id=request["member_id"],
        generation=request["generation_id"],
        error=error_of(answer),
        assignment=answer.value["assignment"] if answer.outcome == "ok" else "",
    )
    yield from _of_member(fact.group, fact.member_id, fact)


@decodes("heartbeat", "leave_group", about=["group", "member"])
def _classic_heartbeat(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    request = call.request
    fact = ClassicHeartbeat(
        *at.exchange(call, answer),
        group=request["group"],
        member_id=request["member_id"],
        generation=request.get("generation_id", -1),
        error=error_of(answer),
        leaves=call.op == "leave_group",
    )
    yield from _of_member(fact.group, fact.member_id, fact)


def _of_member(group: str, member: str, fact: Exchange) -> Iterator[Attributed]:
    yield ("group", group, fact)
    if member:
        yield ("member", member, fact)


# --- consumers


@decodes("assigned", about=["partition"])
def _assigned(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    """A consumer was assigned or rebalanced, and begins another session."""
    at.sessions.setdefault(call.node, []).append(answer.n)
    if call.request.get("group") is not None:
        at.grouped.add(call.node)
    return iter(())


@decodes("poll", about=["partition"])
def _poll(call: Call, answer: Answer, at: Decoding) -> Iterator[Attributed]:
    sessions, grouped = at.sessions.get(call.node, []), call.node in at.grouped
    session, since = len(sessions), sessions[-1] if sessions else 0
    assignments = sum(map(len, at.sessions.values()))
    for one in answer.value["records"] if answer.outcome == "ok" else ():
        record = (one["offset"], one["leader_epoch"], one["value"])
        fact = ConsumedRecord(answer.n, call.node, session, since, *record, grouped, assignments)
        yield ("partition", partition_of(one), fact)


@decodes("deliver", "rewind", "restart", about=["partition"])
def _reader_step(call: Call, answer: Answer, _: Decoding) -> Iterator[Attributed]:
    if answer.outcome != "ok" or "topic" not in call.request:
        return
    request, truncation = call.request, call.request.get("told")
    fact = ReaderStep(
        event=answer.n,
        reader=call.node,
        op=call.op,
        to=answer.value["offset"],
        truncation=(truncation["epoch"], truncation["end_offset"]) if truncation is not None else None,
        records=tuple([(one["offset"], one["epoch"], one["value"]) for one in request.get("records", ())]),
    )
    yield ("partition", partition_of(request), fact)
