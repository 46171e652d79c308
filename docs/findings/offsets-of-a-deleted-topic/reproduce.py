"""The committed offset of a deleted topic is answered for a new one of its name: two brokers, about a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Trouble, run, tell, until, waits
from kit_free_requests import append, batch, create_topic, delete_topic, describe, error, find_coordinator

PROMISED = "a topic that was just created has no committed offsets"

GROUP = "readers"


def commit(cluster: Cluster, offset: int) -> int:
    """Commit an offset of partition 0 as a consumer without a membership, and return the error code."""
    from kafka.protocol.consumer import OffsetCommitRequest

    kind = OffsetCommitRequest.OffsetCommitRequestTopic
    wanted = kind.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    topics = [kind(name="t", partitions=[wanted])]
    request = OffsetCommitRequest(
        version=5, group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", topics=topics
    )
    return int(cluster[2].ask(request).topics[0].partitions[0].error_code)


def fetch_offset(cluster: Cluster) -> int:
    """Return the committed offset of partition 0; -1 if there is none."""
    from kafka.protocol.consumer import OffsetFetchRequest

    topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    answer = cluster[2].ask(OffsetFetchRequest(version=5, group_id=GROUP, topics=topics))
    partition = answer.topics[0].partitions[0]
    if answer.error_code or partition.error_code:
        raise Trouble(f"OffsetFetch was refused: {error(answer.error_code or partition.error_code)}")
    return int(partition.committed_offset)


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the new topic has the offset that was committed for the deleted one."""
    cluster.boot(2)
    create_topic(cluster, "__consumer_offsets", [[2]], cleanup_policy="compact")
    create_topic(cluster, "t", [[1]])
    append(cluster[1], "t", batch("a", "b"))

    cluster.step("a group commits offset 2 for the topic; its coordinator is broker 2")
    coordinator = find_coordinator(cluster[1], GROUP, kind=0)
    until(lambda: commit(cluster, 2) == 0, "the offset is committed")
    tell(f"coordinator: broker {coordinator}; committed offset {fetch_offset(cluster)}")

    cluster.step("broker 2 is killed; the topic is deleted; broker 2 is started")
    cluster[2].kill()
    until(lambda: describe(cluster, "__consumer_offsets")[0].leader_id == -1, "no coordinator")
    delete_topic(cluster, "t")
    cluster[2].start()
    until(lambda: find_coordinator(cluster[1], GROUP, kind=0) == 2, "the coordinator is back")

    cluster.step("a topic of the same name is created; nothing is committed for it, and nothing written")
    create_topic(cluster, "t", [[1]])
    waits(lambda: fetch_offset(cluster) == -1, at_most=15)
    offset = fetch_offset(cluster)
    tell(f"OffsetFetch: {offset}")
    return (
        offset != -1,
        f"OffsetFetch answers {offset} for the new topic ({'-1 is none' if offset == -1 else 'after 15 s'})",
    )


if __name__ == "__main__":
    run(play, "The committed offset of a deleted topic is answered for a new one of its name", PROMISED)
