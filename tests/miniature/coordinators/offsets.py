"""Offsets of groups: commits, commits in transactions, and fetches."""

from __future__ import annotations

from protocol.codes import Error
from tests.miniature.coordinators.shard import Shard
from tests.miniature.coordinators.state import OFFSET, Group, Member, Plain, Record, State

MEMBERS_COMMIT_FROM = 9
"""The version of OffsetCommit that members of the consumer protocol need."""


def commit(shard: Shard, asked: Plain) -> Plain:
    """Answer OffsetCommit; a refusal is that of each partition."""
    records, known = _records(shard, asked), {}
    error = _why_not_committed(shard, asked)
    logs_all_the_same = "refused-commit-logged" in shard.bugs and error is Error.STALE_MEMBER_EPOCH
    for record in records:
        known[record.key["topic"], record.key["partition"]] = error
        if error is Error.NONE:
            shard.put(*record)
        elif logs_all_the_same:
            shard.put_unseen(*record)
    if "third-commit-lost" in shard.bugs and records and records[0].value["offset"] % 3 == 0:  # type: ignore[index]
        shard.forget()
    return _results(asked, known)


def commit_in_transaction(shard: Shard, asked: Plain, refused: Error) -> Plain:
    """Answer TxnOffsetCommit, which the transaction's coordinator has refused, or not."""
    records = _records(shard, asked)
    error = refused if refused is not Error.NONE else _why_not_committed(shard, asked, is_transactional=True)
    if error is Error.NONE and not shard.is_writable:
        error = Error.COORDINATOR_NOT_AVAILABLE
    if error is Error.NONE and records:
        shard.append_in_transaction(records, (asked["producer_id"], asked["producer_epoch"]))
    return _results(asked, {(one.key["topic"], one.key["partition"]): error for one in records}, error)


def _records(shard: Shard, asked: Plain) -> list[Record]:
    """Return the records of a commit, without those of unknown topics."""
    found: list[Record] = []
    for topic in asked["topics"]:
        known = shard.broker.topics.get(topic["name"])
        for wanted in topic["partitions"] if known is not None else ():
            assert known is not None
            if (topic["name"], wanted["partition_index"]) not in shard.broker.views:
                continue
            key = {"group": asked["group_id"], "topic": topic["name"], "partition": wanted["partition_index"]}
            value = {
                "offset": wanted["committed_offset"],
                "leader_epoch": wanted["committed_leader_epoch"],
                "metadata": wanted["committed_metadata"],
                "topic_id": str(known.id),
            }
            found.append(Record(OFFSET, key, value))
    return found


def _results(asked: Plain, known: dict[tuple[str, int], Error], refused: Error = Error.NONE) -> Plain:
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION if refused is Error.NONE else refused
    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    {
                        "partition_index": one["partition_index"],
                        "error_code": known.get((topic["name"], one["partition_index"]), unknown),
                    }
                    for one in topic["partitions"]
                ],
            }
            for topic in asked["topics"]
        ]
    }


# --- who may commit


def _why_not_committed(shard: Shard, asked: Plain, *, is_transactional: bool = False) -> Error:
    """Return the error of a commit whose member or epoch is wrong."""
    id, epoch = asked["member_id"], asked["generation_id_or_member_epoch"]
    group, classic = shard.state.groups.get(asked["group_id"]), shard.state.classic.get(asked["group_id"])
    if group is not None:
        return _why_not_by_member(shard, group, asked, is_transactional)
    if not id and epoch < 0 and (classic is None or not classic.members or is_transactional):
        return Error.NONE
    if classic is None:
        return Error.GROUP_ID_NOT_FOUND if asked["version"] >= MEMBERS_COMMIT_FROM else Error.ILLEGAL_GENERATION
    static = classic.static(asked.get("group_instance_id") or "")
    if static is not None and static.id != id:
        return Error.FENCED_INSTANCE_ID
    if id not in classic.members:
        return Error.UNKNOWN_MEMBER_ID
    if epoch != classic.generation:
        return Error.ILLEGAL_GENERATION
    return Error.REBALANCE_IN_PROGRESS if classic.phase == "completing" else Error.NONE


def _why_not_by_member(shard: Shard, group: Group, asked: Plain, is_transactional: bool) -> Error:
    id, epoch = asked["member_id"], asked["generation_id_or_member_epoch"]
    if not id and epoch < 0 and (not group.members or is_transactional):
        return Error.NONE
    member = group.members.get(id)
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    is_classic = member.is_classic or is_transactional
    stale = Error.ILLEGAL_GENERATION if is_classic else Error.STALE_MEMBER_EPOCH
    if not is_classic and asked["version"] < MEMBERS_COMMIT_FROM:
        return Error.UNSUPPORTED_VERSION
    if "third-epoch-refused" in shard.bugs and epoch == member.epoch and epoch % 3 == 0:
        return stale
    if epoch == member.epoch or _is_old_but_good(shard, member, asked):
        return Error.NONE
    return stale


def _is_old_but_good(shard: Shard, member: Member, asked: Plain) -> bool:
    """True if an older epoch is not below the assignment epochs of all partitions of the commit (KIP-1251)."""
    epoch, bugs = asked["generation_id_or_member_epoch"], shard.bugs
    if epoch > member.epoch or epoch < 0:
        return "newer-epoch-commits" in bugs and epoch > member.epoch
    if "old-epochs-commit" in bugs:
        return True
    if "older-epoch-refused" in bugs:
        return False
    held = {**member.assigned, **({} if "pending-may-not-commit" in bugs else member.pending)}
    ids = {name: str(topic.id) for name, topic in shard.broker.topics.items()}
    for topic in asked["topics"]:
        for one in topic["partitions"]:
            place = (ids.get(topic["name"], ""), one["partition_index"])
            since = held.get(place)
            if since is None and "epoch-of-the-first-topic" in bugs:
                since = next((at for (_, index), at in sorted(held.items()) if index == place[1]), None)
            if since is None or epoch < since:
                return False
    return True


# --- fetches


def fetch(shard: Shard, asked: Plain) -> Plain:
    """Answer OffsetFetch, up to version 7 of one group."""
    if "groups" in asked:
        return {"groups": [_fetched(shard, one, asked["require_stable"]) for one in asked["groups"]]}
    return _fetched(shard, asked, asked.get("require_stable", False))


def _fetched(shard: Shard, wanted: Plain, stable: bool) -> Plain:
    state = shard.committed_state()
    group = str(wanted["group_id"])
    error = _why_not_fetched(state, wanted)
    if "fetch-without-epoch" in shard.bugs:
        error = Error.NONE
    if error is not Error.NONE:
        return {"group_id": group, "error_code": error, "topics": []}
    known, pending = state.offsets.get(group, {}), state.pending(group)
    topics = wanted["topics"]
    if topics is None:
        topics = [{"name": name, "partition_indexes": [index]} for name, index in sorted(known)]
    answers = []
    for topic in topics:
        each = []
        for index in topic["partition_indexes"]:
            place = (topic["name"], index)
            found = known.get(place)
            fields = {"committed_offset": -1, "committed_leader_epoch": -1, "metadata": "", "error_code": 0}
            if stable and place in pending:
                fields["error_code"] = Error.UNSTABLE_OFFSET_COMMIT
            elif found is not None:
                fields |= {
                    "committed_offset": found.offset,
                    "committed_leader_epoch": found.epoch,
                    "metadata": found.metadata,
                }
            each.append({"partition_index": index, **fields})
        answers.append({"name": topic["name"], "partitions": each})
    return {"group_id": group, "error_code": 0, "topics": answers}


def _why_not_fetched(state: State, wanted: Plain) -> Error:
    id, epoch, group = wanted.get("member_id"), wanted.get("member_epoch", -1), state.groups.get(wanted["group_id"])
    if group is None or (not id and epoch < 0):
        return Error.NONE
    member = group.members.get(id or "")
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    return Error.NONE if epoch == member.epoch else Error.STALE_MEMBER_EPOCH


def drop_deleted(shard: Shard) -> None:
    """Remove the offsets of topics that the broker no longer has."""
    ids = {name: str(topic.id) for name, topic in shard.broker.topics.items()}
    for group, found in [*shard.state.offsets.items()]:
        for (topic, index), one in [*found.items()]:
            if ids.get(topic) != one.topic_id:
                shard.put(OFFSET, {"group": group, "topic": topic, "partition": index}, None)


__all__ = ["commit", "commit_in_transaction", "drop_deleted", "fetch"]
