"""All group coordinators of a cluster: which broker has which partition of the offsets topic, and what they answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from history.readings import GroupRecords
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.coordinators import LOGS, partition_for
from protocol.errors import KitError
from protocol.groups import LEAVE
from tests.miniature.coordinators import classic, consumer, offsets
from tests.miniature.coordinators.shard import Refused, Shard
from tests.miniature.coordinators.state import Group, Member, Plain, by_topic, read_records
from tests.miniature.core.broker import Broker
from tests.miniature.core.cluster import MiniCluster

TOPIC = LOGS[CoordinatorType.GROUP]
PARTITIONS = 3
CONFIGS = {"cleanup.policy": "compact", "min.insync.replicas": "2"}
CLASSIC_UNKNOWN_FROM = 6
"""The version of DescribeGroups from which on a non-existent group is an error (KIP-1043)."""

Wait = Callable[[Callable[[], bool]], None]


class GroupCoordinators:
    """The coordinators of groups. `wait` waits for a condition, and lets other requests go on meanwhile."""

    def __init__(self, cluster: MiniCluster, wait: Wait) -> None:
        self.cluster, self._wait = cluster, wait
        self._shards: dict[tuple[int, int], Shard] = {}
        ids = list(cluster.brokers)
        placed = [tuple(ids[(first + n) % len(ids)] for n in range(len(ids))) for first in range(PARTITIONS)]
        cluster.controller.create_topic(TOPIC, placed, CONFIGS)
        cluster.tick(4)
        cluster.coordinators = self

    # --- requests

    def answer(self, api: str, broker: Broker, asked: Plain) -> Plain:
        """Answer a request of members or committers, which may have to wait until its records are replicated."""
        return {
            "ConsumerGroupHeartbeat": self._heartbeat,
            "ConsumerGroupDescribe": self._describe,
            "DescribeGroups": self._describe_classic,
            "FindCoordinator": self._find,
            "Heartbeat": lambda broker, asked: self._write(broker, asked, classic.heartbeat, {}),
            "JoinGroup": self._join,
            "LeaveGroup": lambda broker, asked: self._write(broker, asked, classic.leave, {"members": []}),
            "OffsetCommit": self._commit,
            "OffsetFetch": self._fetch,
            "SyncGroup": lambda broker, asked: self._write(broker, asked, classic.sync, {"assignment": b""}),
            "TxnOffsetCommit": self._commit_in_transaction,
        }[api](broker, asked)

    def partition_of(self, group: str) -> tuple[str, int]:
        """Return the partition of the offsets topic that holds a group."""
        return TOPIC, partition_for(group, PARTITIONS)

    def _find(self, broker: Broker, asked: Plain) -> Plain:
        def found(key: str) -> Plain:
            view = broker.views.get(self.partition_of(key))
            id = view.leader if view is not None else -1
            if asked.get("key_type", 0) != CoordinatorType.GROUP:
                id = self.cluster.coordinator or -1
            error = Error.NONE if id >= 0 and id not in broker.fenced_ids else Error.COORDINATOR_NOT_AVAILABLE
            where = {"node_id": id if error is Error.NONE else -1, "host": "miniature", "port": 9000}
            return {"key": key, "error_code": error, "error_message": None, **where}

        keys = asked.get("coordinator_keys")
        if keys is None:
            return {name: value for name, value in found(asked["key"]).items() if name != "key"}
        return {"coordinators": [found(key) for key in keys]}

    def shard(self, broker: Broker, group: str) -> Shard | Error:
        """Return the group's partition at a broker, or the error of one that does not lead it or has not loaded it."""
        key = self.partition_of(group)
        replica = broker.replicas.get(key)
        shard = self._shards.get((broker.id, key[1]))
        if replica is None or not replica.leads:
            return Error.NOT_COORDINATOR
        if shard is None or not shard.is_current:
            shard = self._shards[broker.id, key[1]] = Shard(broker, replica)
        if not shard.is_loaded:
            return Error.COORDINATOR_LOAD_IN_PROGRESS
        shard.catch_up()
        return shard

    def _write(
        self, broker: Broker, asked: Plain, act: Callable[[Shard, Plain], Plain], empty: Plain, **fields: Any
    ) -> Plain:
        """Answer a request that may change a group. `empty` are the fields of an answer with an error."""
        shard = self.shard(broker, asked["group_id"])
        if isinstance(shard, Error):
            return {"error_code": shard, "error_message": None, **empty}
        try:
            answer = act(shard, asked)
        except Refused as refused:
            if shard.has_changes:
                shard.forget()
            answer = {"error_code": refused.error, "error_message": refused.error.name, **empty}
        if not shard.flush():
            return {"error_code": Error.COORDINATOR_NOT_AVAILABLE, "error_message": None, **empty}
        error = shard.await_commit()
        return answer if error is Error.NONE else {"error_code": error, "error_message": None, **empty}

    def _heartbeat(self, broker: Broker, asked: Plain) -> Plain:
        empty = {"member_id": asked["member_id"], "member_epoch": 0, "heartbeat_interval_ms": 0, "assignment": None}
        answer = self._write(broker, asked, consumer.heartbeat, empty)
        if "fenced-members-leave" in broker.cluster.bugs and answer["error_code"] == Error.FENCED_MEMBER_EPOCH:
            self._write(broker, {**asked, "member_epoch": LEAVE}, consumer.heartbeat, empty)
        return answer

    def _join(self, broker: Broker, asked: Plain) -> Plain:
        empty: Plain = {"generation_id": -1, "protocol_type": None, "protocol_name": None, "leader": "", "members": []}
        empty |= {"member_id": asked["member_id"], "skip_assignment": False}
        return self._write(broker, asked, lambda shard, one: classic.join(shard, one, self._wait), empty)

    def _commit(self, broker: Broker, asked: Plain) -> Plain:
        answer = self._write(broker, asked, offsets.commit, {})
        return answer if "topics" in answer else _refused_offsets(asked, answer["error_code"])

    def _commit_in_transaction(self, broker: Broker, asked: Plain) -> Plain:
        def act(shard: Shard, one: Plain) -> Plain:
            return offsets.commit_in_transaction(shard, one, one["refusal"]())

        answer = self._write(broker, asked, act, {})
        return answer if "topics" in answer else _refused_offsets(asked, answer["error_code"])

    # --- reads

    def _fetch(self, broker: Broker, asked: Plain) -> Plain:
        group = asked["groups"][0]["group_id"] if "groups" in asked else asked["group_id"]
        shard = self.shard(broker, group)
        if not isinstance(shard, Error):
            answer = offsets.fetch(shard, asked)
        elif "groups" in asked:
            answer = {"groups": [{"group_id": group, "error_code": shard, "topics": []}]}
        else:
            answer = {"error_code": shard, "topics": []}
        if asked["version"] > 1 or answer["error_code"] == Error.NONE:
            return answer
        return _refused_fetch(asked, answer["error_code"])

    def _describe(self, broker: Broker, asked: Plain) -> Plain:
        return {"groups": [self._described(broker, group) for group in asked["group_ids"]]}

    def _described(self, broker: Broker, id: str) -> Plain:
        fields: Plain = {"group_id": id, "error_message": None, "assignor_name": "uniform", "members": []}
        fields |= {"group_state": "", "group_epoch": 0, "assignment_epoch": 0, "authorized_operations": -(1 << 31)}
        shard = self.shard(broker, id)
        if isinstance(shard, Error):
            return {**fields, "error_code": shard}
        group = shard.committed_state().groups.get(id)
        if group is None:
            return {**fields, "error_code": Error.GROUP_ID_NOT_FOUND, "group_state": "Dead"}
        shown = group.epoch + ("described-one-ahead" in shard.bugs and len(group.members) > 1)
        members = [_described_member(shard, group, one) for one in group.members.values()]
        epochs = {"group_epoch": shown, "assignment_epoch": group.target_epoch}
        return {**fields, **epochs, "error_code": 0, "group_state": _state_of(group), "members": members}

    def _describe_classic(self, broker: Broker, asked: Plain) -> Plain:
        return {"groups": [self._described_classic(broker, group, asked["version"]) for group in asked["groups"]]}

    def _described_classic(self, broker: Broker, id: str, version: int) -> Plain:
        fields: Plain = {"group_id": id, "protocol_type": "", "protocol_data": "", "error_message": None}
        shard = self.shard(broker, id)
        if isinstance(shard, Error):
            return {**fields, "error_code": shard, "group_state": "", "members": []}
        group = shard.committed_state().classic.get(id)
        if group is None:
            unknown = Error.GROUP_ID_NOT_FOUND if version >= CLASSIC_UNKNOWN_FROM else Error.NONE
            return {**fields, "error_code": unknown, "group_state": "Dead", "members": []}
        members = [{"member_id": one.id, "group_instance_id": one.instance or None} for one in group.members.values()]
        state = "Stable" if members else "Empty"
        return {**fields, "error_code": 0, "group_state": state, "members": members}

    def records(self, broker: Broker, partition: int, start: int) -> GroupRecords:
        """Return the records of a partition, as its leader serves them. Raises KitError at another broker."""
        replica = broker.replicas.get((TOPIC, partition))
        if replica is None or not replica.leads:
            raise KitError(f"{broker.name} does not lead {TOPIC}-{partition}")
        end = replica.log.watermark
        found = [one for stored in replica.log.read(start, end) for one in read_records(stored.read)]
        return GroupRecords(start, end, tuple(one for one in found if one.offset >= start))

    # --- what goes on by itself

    def tick(self) -> None:
        """Load what brokers lead, end sessions, and drop the offsets of deleted topics."""
        for broker in self.cluster.running():
            for partition in range(PARTITIONS):
                replica = broker.replicas.get((TOPIC, partition))
                if replica is None or not replica.leads:
                    continue
                shard = self._shards.get((broker.id, partition))
                if shard is None or not shard.is_current:
                    shard = self._shards[broker.id, partition] = Shard(broker, replica)
                if shard.is_loaded and not shard.has_changes:
                    self._go_on(shard)

    def _go_on(self, shard: Shard) -> None:
        shard.catch_up()
        for (group, member), is_session in [*shard.expired()]:
            found = shard.groups_with(member) if not group else [shard.state.groups.get(group)]
            for one in found:
                if one is not None and member in one.members:
                    self._expire(shard, one, member, is_session=is_session)
            known = shard.state.classic.get(group)
            if known is not None and member in known.members and is_session:
                classic.remove_classic(shard, group, member)
        offsets.drop_deleted(shard)
        shard.flush()

    def _expire(self, shard: Shard, group: Group, member: str, *, is_session: bool) -> None:
        if is_session or "rebalance-timer-stays" in shard.bugs or group.members[member].phase == "UNREVOKED_PARTITIONS":
            consumer.remove(shard, group, member)


def _state_of(group: Group) -> str:
    if not group.members:
        return "Empty"
    if group.epoch > group.target_epoch:
        return "Assigning"
    settled = all(one.phase == "STABLE" and one.epoch == group.target_epoch for one in group.members.values())
    return "Stable" if settled else "Reconciling"


def _described_member(shard: Shard, group: Group, one: Member) -> Plain:
    names = {str(topic.id): name for name, topic in shard.broker.topics.items()}

    def listed(places: Any) -> Plain:
        each = [{"topic_id": uuid.UUID(id), "topic_name": names.get(id, ""), "partitions": of} for id, of in places]
        return {"topic_partitions": each}

    return {
        "member_id": one.id,
        "instance_id": one.instance or None,
        "rack_id": None,
        "member_epoch": one.epoch,
        "client_id": "",
        "client_host": "",
        "subscribed_topic_names": sorted(one.topics),
        "subscribed_topic_regex": one.pattern or None,
        "assignment": listed(by_topic(one.assigned)),
        "target_assignment": listed(by_topic(group.targets.get(one.id, frozenset()))),
        "member_type": 0 if one.is_classic else 1,
    }


def _refused_offsets(asked: Plain, error: Error) -> Plain:
    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [
                    {"partition_index": one["partition_index"], "error_code": error} for one in topic["partitions"]
                ],
            }
            for topic in asked["topics"]
        ]
    }


def _refused_fetch(asked: Plain, error: Error) -> Plain:
    nothing = {"committed_offset": -1, "metadata": "", "error_code": error}
    return {
        "topics": [
            {
                "name": topic["name"],
                "partitions": [{"partition_index": one, **nothing} for one in topic["partition_indexes"]],
            }
            for topic in asked["topics"]
        ]
    }


__all__ = ["TOPIC", "GroupCoordinators"]
