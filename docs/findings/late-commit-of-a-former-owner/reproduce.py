"""A former owner's late commit overwrites the offset of the present one: one broker, about half a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Node, Trouble, exchange, run, tell
from kit_free_requests import HEARTBEAT, create_topic, error, find_coordinator, text

GROUP, TOPIC = "billing", "t"
PROMISED = (
    "KIP-1251: if the epoch of a commit is the member's current one, no other member can own the partition at the same or a "
    "larger epoch, so that zombie commits are fenced"
)


class Member:
    """A member of the group that heartbeats as a client does: it owns what it was assigned last."""

    def __init__(self, node: Node, id: str) -> None:
        self.node, self.id = node, id
        self.epoch = 0
        self.topic_id = bytes(16)
        self.partitions: list[int] = []

    def heartbeat(self) -> None:
        """Send ConsumerGroupHeartbeat (version 0) with what the member owns, and take over the answer."""
        header = struct.pack(">hhih", HEARTBEAT, 0, 1, -1) + b"\0"
        who = text(GROUP) + text(self.id) + struct.pack(">i", self.epoch) + text(None) + text(None)
        subscribed = bytes([2]) + text(TOPIC) if self.epoch == 0 else b"\0"
        frame = header + who + struct.pack(">i", 60_000) + subscribed + text(None) + self._owned() + b"\0"
        self._take(exchange(self.node.port, struct.pack(">i", len(frame)) + frame))
        tell(f"{self.id}: epoch {self.epoch}, partitions {self.partitions}")

    def _owned(self) -> bytes:
        if not self.partitions:
            return bytes([1])
        listed = struct.pack(f">{len(self.partitions)}i", *self.partitions)
        return bytes([2]) + self.topic_id + bytes([len(self.partitions) + 1]) + listed + b"\0"

    def _take(self, answer: bytes) -> None:
        (code,) = struct.unpack_from(">h", answer, 9)
        if code:
            raise Trouble(f"a heartbeat of {self.id} was answered {error(code)}")
        at = 11 + max(answer[11], 1)
        at += max(answer[at], 1)
        (self.epoch,) = struct.unpack_from(">i", answer, at)
        at += 8
        if answer[at] == 1:
            self.partitions = []
            if answer[at + 1] == 2:
                self.topic_id = answer[at + 2 : at + 18]
                count = answer[at + 18] - 1
                self.partitions = list(struct.unpack_from(f">{count}i", answer, at + 19))

    def commit(self, partition: int, offset: int, epoch: int) -> int:
        """Commit an offset at a member epoch, and return the error code."""
        from kafka.protocol.consumer import OffsetCommitRequest

        kind = OffsetCommitRequest.OffsetCommitRequestTopic
        wanted = kind.OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
        )
        request = OffsetCommitRequest(
            version=9,
            group_id=GROUP,
            generation_id_or_member_epoch=epoch,
            member_id=self.id,
            group_instance_id=None,
            topics=[kind(name=TOPIC, partitions=[wanted])],
        )
        return int(self.node.ask(request).topics[0].partitions[0].error_code)


def fetch_offset(node: Node, partition: int) -> int:
    """Return the committed offset of a partition; -1 if there is none."""
    from kafka.protocol.consumer import OffsetFetchRequest

    topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[partition])]
    answer = node.ask(OffsetFetchRequest(version=5, group_id=GROUP, topics=topics))
    return int(answer.topics[0].partitions[0].committed_offset)


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if a commit of the former owner is accepted after the next owner has committed."""
    settings = {"group_coordinator_rebalance_protocols": "classic,consumer", "offsets_topic_replication_factor": "1"}
    cluster.boot(
        **settings, group_consumer_assignment_interval_ms="0"
    )  # else an answer needs a second heartbeat from 4.3 on
    create_topic(cluster, TOPIC, [[1]] * 5)
    broker = cluster[find_coordinator(cluster[1], GROUP, 0)]
    first, second, third = (Member(broker, f"reader-{number}") for number in (1, 2, 3))

    cluster.step("reader-1 joins and owns all five partitions")
    while len(first.partitions) < 5:
        first.heartbeat()
    epoch, before = first.epoch, first.partitions

    cluster.step("reader-2 joins; reader-1 is told to give up partitions")
    second.heartbeat()
    first.heartbeat()
    given_up = sorted({*before} - {*first.partitions})

    cluster.step("reader-3 joins, before reader-1 has given them up; then reader-1 does, and is told to give up more")
    third.heartbeat()
    first.heartbeat()

    cluster.step("reader-2 gets what reader-1 has given up, and commits")
    second.heartbeat()
    moved = sorted({*given_up} & {*second.partitions})
    if not moved:
        raise Trouble(f"reader-2 has {second.partitions}, and reader-1 gave up {given_up}")
    code = second.commit(moved[0], 100, second.epoch)
    tell(f"reader-2 commits offset 100 of partition {moved[0]} at epoch {second.epoch}: {error(code)}")

    cluster.step("a commit of reader-1 arrives that it sent while it owned the partition")
    code = first.commit(moved[0], 7, epoch)
    tell(f"reader-1 commits offset 7 of partition {moved[0]} at epoch {epoch}: {error(code)}")
    offset = fetch_offset(broker, moved[0])
    came = (
        f"the commit of reader-1 at epoch {epoch} was answered {error(code)}, and the committed offset of partition "
        f"{moved[0]}, which reader-2 has at epoch {second.epoch}, is {offset}"
    )
    return offset == 7, came


if __name__ == "__main__":
    run(play, "A former owner's late commit overwrites the offset of the present one", PROMISED)
