"""A follower that truncated does not learn the high watermark until the next write: three brokers, a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Node, run, tell, until, waits
from kit_free_requests import append, batch, create_topic, diverge, fetch, in_sync, state_of

PROMISED = "a follower learns the high watermark with its next fetches"


def high_watermark(broker: Node) -> int:
    """Fetch as a consumer reads from a follower (KIP-392), and return the high watermark of the answer."""
    return int(fetch(broker, "t", 0).high_watermark)


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the follower keeps its old high watermark until a record is written."""
    cluster.boot(3)
    create_topic(cluster, "t", [[2, 3]])
    until(lambda: in_sync(cluster, "t") == [2, 3], "both in sync")
    diverge(cluster, "t", kept=1, lost=1)

    cluster.step("broker 2 has lost replication-offset-checkpoint by the power loss; it is started, and truncates")
    cluster[2].on_disk("rm -f /data/log/replication-offset-checkpoint")
    cluster[2].start()
    until(lambda: in_sync(cluster, "t") == [2, 3], "both in sync")
    lines = [line for line in cluster[2].log().splitlines() if "runcat" in line and "t-0" in line]
    tell(lines[-1][:200] if lines else "its log tells no truncation")

    cluster.step("a consumer asks both replicas for ten seconds; nothing is written")
    leader = high_watermark(cluster[3])
    learned = waits(lambda: high_watermark(cluster[2]) == leader, at_most=10)
    before = high_watermark(cluster[2])
    tell(f"high watermark of the leader {leader}, of the follower {before}; {state_of(cluster, 't')}")

    cluster.step("one more record is written")
    append(cluster[3], "t", batch("after"))
    waits(lambda: high_watermark(cluster[2]) == high_watermark(cluster[3]), at_most=10)
    tell(f"high watermark of the leader {high_watermark(cluster[3])}, of the follower {high_watermark(cluster[2])}")
    return (
        not learned,
        f"the leader's high watermark is {leader}, the follower's {before} after 10 s in sync without a write",
    )


if __name__ == "__main__":
    run(play, "A follower that truncated does not learn the high watermark until the next write", PROMISED)
