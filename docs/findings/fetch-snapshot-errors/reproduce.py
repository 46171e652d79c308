"""Every partition error of FetchSnapshot is UNKNOWN_SERVER_ERROR: one broker, about twenty seconds.

python reproduce.py --image apache/kafka:4.3.1
"""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Node, exchange, run, tell
from kit_free_requests import error

PROMISED = (
    "KIP-630: FetchSnapshot answers a partition's error with its own code, such as UNKNOWN_TOPIC_OR_PARTITION (3), "
    "FENCED_LEADER_EPOCH (74), UNKNOWN_LEADER_EPOCH (75) and SNAPSHOT_NOT_FOUND (98)"
)
FETCH_SNAPSHOT = 59
METADATA = "__cluster_metadata"


def compact(text: str) -> bytes:
    """Return a compact string (kafka-python has no FetchSnapshot)."""
    return bytes([len(text) + 1]) + text.encode()


def fetch_snapshot(node: Node, topic: str, leader_epoch: int, snapshot: tuple[int, int]) -> str:
    """Send FetchSnapshot v0 for partition 0 to the controller; return the error on top, and that of the partition."""
    end, epoch = snapshot
    tags = b"\x00"
    partition = (
        struct.pack(">ii", 0, leader_epoch) + struct.pack(">qi", end, epoch) + tags + struct.pack(">q", 0) + tags
    )
    body = struct.pack(">ii", -1, 1 << 20) + b"\x02" + compact(topic) + b"\x02" + partition + tags + tags
    header = struct.pack(">hhi", FETCH_SNAPSHOT, 0, 7) + struct.pack(">h", 4) + b"test" + tags
    frame = header + body
    answer = exchange(node.controller_port, struct.pack(">i", len(frame)) + frame)
    return errors_of(answer)


def errors_of(answer: bytes) -> str:
    """Return the error on top, and that of the partition if there is one."""
    place = 4 + 1 + 4  # correlation id, tags, throttle time
    (top,) = struct.unpack_from(">h", answer, place)
    place += 2
    if answer[place] <= 1:
        return f"{error(top)} on top, and no partition"
    place += 1
    place += answer[place] + 1  # the topic's name, with the number of partitions after it
    (code,) = struct.unpack_from(">h", answer, place + 4)
    return f"{error(top)} on top, {error(code)} for the partition"


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if no partition error arrives."""
    cluster.boot()
    controller = cluster[1]
    epoch = leader_epoch(controller)
    cluster.step(f"FetchSnapshot is sent to the active controller, which leads epoch {epoch}")
    asked = {
        "a topic that it does not have; expected 3": ("other", epoch, (10, epoch)),
        "an older leader epoch; expected 74": (METADATA, epoch - 1, (10, epoch)),
        "a newer leader epoch; expected 75": (METADATA, epoch + 1, (10, epoch)),
        "a snapshot that it does not have; expected 98": (METADATA, epoch, (999999, epoch)),
    }
    answers = [f"{fetch_snapshot(controller, *words)}" for words in asked.values()]
    for what, answer in zip(asked, answers, strict=True):
        tell(f"{what}: {answer}")
    cluster.step("the controller's log says")
    lines = [line for line in controller.log().splitlines() if "NullPointerException" in line]
    tell(lines[0][:300] if lines else "nothing of a NullPointerException")
    bad = sum("UNKNOWN_SERVER_ERROR" in answer or "(-1)" in answer for answer in answers)
    return bad > 0, f"UNKNOWN_SERVER_ERROR (-1) in {bad} of {len(answers)} answers"


def leader_epoch(node: Node) -> int:
    """Return the epoch of the quorum's leader."""
    from kafka.protocol.admin import DescribeQuorumRequest

    kind = DescribeQuorumRequest.TopicData
    topics = [kind(topic_name=METADATA, partitions=[kind.PartitionData(partition_index=0)])]
    return int(node.ask(DescribeQuorumRequest(version=0, topics=topics)).topics[0].partitions[0].leader_epoch)


if __name__ == "__main__":
    run(play, "FetchSnapshot answers every partition error with UNKNOWN_SERVER_ERROR", PROMISED)
