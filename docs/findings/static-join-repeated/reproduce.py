"""A static member that repeats its join is refused its own instance: one broker, about half a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Node, exchange, run, tell
from kit_free_requests import HEARTBEAT, create_topic, error, find_coordinator, text

GROUP, MEMBER, INSTANCE = "billing", "member-of-billing-1", "billing-1"
PROMISED = (
    "KIP-848: a member joins with epoch 0, and one whose answer was lost joins again; UNRELEASED_INSTANCE_ID is for another "
    "member that wants an instance which is still in use"
)


def join(node: Node, instance: str | None, member: str) -> int:
    """Send ConsumerGroupHeartbeat (version 0) at epoch 0, and return the error of the answer."""
    header = struct.pack(">hhih", HEARTBEAT, 0, 1, -1) + b"\0"
    who = text(GROUP) + text(member) + struct.pack(">i", 0) + text(instance) + text(None)
    subscribed, owned = bytes([2]) + text("t"), bytes([1])
    frame = header + who + struct.pack(">i", 60_000) + subscribed + text(None) + owned + b"\0"
    answer = exchange(node.port, struct.pack(">i", len(frame)) + frame)
    (code,) = struct.unpack_from(">h", answer, 9)
    return int(code)


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the repeated join of a static member is refused."""
    settings = {"group_coordinator_rebalance_protocols": "classic,consumer", "offsets_topic_replication_factor": "1"}
    cluster.boot(**settings)
    create_topic(cluster, "t", [[1]])
    broker = cluster[find_coordinator(cluster[1], GROUP, 0)]

    cluster.step("a member without an instance id joins, and sends the same request again, as after a lost answer")
    dynamic = [join(broker, None, "member-of-billing-2") for _ in range(2)]
    tell("ConsumerGroupHeartbeat at epoch 0: " + ", then ".join(map(error, dynamic)))

    cluster.step(f"a member with the instance id {INSTANCE} joins, and sends the same request again")
    static = [join(broker, INSTANCE, MEMBER) for _ in range(2)]
    tell("ConsumerGroupHeartbeat at epoch 0: " + ", then ".join(map(error, static)))
    came = f"the repeated join was answered {error(static[1])}; that of the member without an instance id {error(dynamic[1])}"
    return static[0] == 0 and static[1] != 0, came


if __name__ == "__main__":
    run(play, "A static member that repeats its join is refused its own instance", PROMISED)
