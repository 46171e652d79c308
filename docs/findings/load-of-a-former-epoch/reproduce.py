"""A coordinator serves groups before their partition is loaded, after it led twice in a row: one broker, about two minutes.

python reproduce.py --image apache/kafka:4.3.1
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Node, Trouble, exchange, run, tell
from kit_free_requests import create_topic, error, find_coordinator

GROUP, TOPIC = "g", "t"
PARTITIONS, TIMES, REQUESTS = 100, 10, 1200
PROMISED = "once a coordinator answers without an error, it has loaded what was committed, and answers with that"


def commit_all(node: Node) -> None:
    """Commit 1,200,000 offsets, so that loading them takes longer than two elections."""
    from kafka.protocol.consumer import OffsetCommitRequest

    kind = OffsetCommitRequest.OffsetCommitRequestTopic
    wanted = [
        kind.OffsetCommitRequestPartition(
            partition_index=number, committed_offset=42, committed_leader_epoch=-1, committed_metadata=""
        )
        for number in range(PARTITIONS)
    ]
    request = OffsetCommitRequest(
        version=6,
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[kind(name=TOPIC, partitions=wanted * TIMES)],
    )
    request.with_header(correlation_id=1, client_id="finding")
    frame = request.encode(header=True, framed=True)
    for _ in range(REQUESTS):
        exchange(node.port, frame)


def fetch_offset(node: Node) -> tuple[int, int]:
    """Return the error of an OffsetFetch of one partition, and its committed offset; -1 if there is none."""
    from kafka.protocol.consumer import OffsetFetchRequest

    topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[PARTITIONS - 1])]
    answer = node.ask(OffsetFetchRequest(version=5, group_id=GROUP, topics=topics))
    [partition] = answer.topics[0].partitions if answer.topics else [None]
    code = answer.error_code or (partition.error_code if partition else 0)
    return int(code), int(partition.committed_offset) if partition else -1


@contextmanager
def busy_machine() -> Iterator[None]:
    """Keep all cores busy within the block, which stretches the load more than the elections."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range((os.cpu_count() or 1) + 1)]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


def answers(node: Node) -> Iterator[tuple[int, int]]:
    """Yield the answers to OffsetFetch up to the first one without an error. The requests come without a pause, since the
    coordinator may be active without offsets for a tenth of a second only."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            found = fetch_offset(node)
        except OSError:
            continue  # the broker is not up
        yield found
        if found[0] == 0:
            return
    raise Trouble("no OffsetFetch without an error within 60 s")


def first_answer(cluster: Cluster) -> int:
    """Kill the broker, start it again, and return the offset of its first answer without an error."""
    cluster[1].kill()
    with busy_machine():
        cluster[1].start(wait=False)
        found = [*answers(cluster[1])]
    before = sorted({error(code) for code, _ in found[:-1]})
    tell(f"OffsetFetch: {', '.join(before) or 'nothing'} at first; then, without an error, offset {found[-1][1]}")
    return found[-1][1]


def tell_loads(node: Node) -> None:
    """Tell of the loads since the last start, as the broker logs them."""
    own = [line for line in node.log().splitlines() if "[GroupCoordinator id=1]" in line and "oad" in line]
    for line in [one for one in own if "__consumer_offsets-0" in one][-14:]:
        tell(line[:170])


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the first answer without an error lacks a committed offset."""
    cluster.boot(offsets_load_buffer_size="67108864")
    create_topic(cluster, TOPIC, [[1]] * PARTITIONS)
    broker = cluster[find_coordinator(cluster[1], GROUP, 0)]
    cluster.step(f"the group commits offset 42 of {PARTITIONS} partitions, {TIMES * REQUESTS} times each")
    commit_all(broker)
    tell(f"OffsetFetch: offset {fetch_offset(broker)[1]}")
    for _ in range(3):
        cluster.step("the broker is killed and started again")
        offset = first_answer(cluster)
        tell_loads(cluster[1])
        if offset != 42:
            return True, "an answer without an error in which the group has no offset"
    return False, "offset 42 each time"


if __name__ == "__main__":
    run(play, "A coordinator serves groups before their partition is loaded", PROMISED)
