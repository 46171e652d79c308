"""A reassignment that is corrected while it hangs ends with fewer copies: three brokers, about a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, run, tell, until, waits
from kit_free_requests import append, batch, create_topic, describe, error, in_sync, reassign, state_of

PROMISED = "a partition has the replicas that the last acknowledged reassignment names (KIP-455)"


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if a replica that was asked for last is gone."""
    cluster.boot(3)
    create_topic(cluster, "t", [[1, 2, 3]])
    until(lambda: in_sync(cluster, "t") == [1, 2, 3], "all in sync")
    append(cluster[1], "t", batch("a record"))

    cluster.step("broker 2 is stopped")
    cluster[2].stop()
    until(lambda: in_sync(cluster, "t") == [1, 3], "broker 2 has left the ISR")
    tell(state_of(cluster, "t"))

    cluster.step("AlterPartitionReassignments to [2, 3]: it has to wait for broker 2")
    tell(f"answered {error(reassign(cluster, 't', [2, 3]))}")
    tell(state_of(cluster, "t"))

    cluster.step("AlterPartitionReassignments to [3, 1, 2]: the operator wants broker 1 after all")
    code = reassign(cluster, "t", [3, 1, 2])
    tell(f"answered {error(code)}")
    tell(state_of(cluster, "t"))

    cluster.step("broker 2 is started, and the reassignment ends")
    cluster[2].start()
    waits(lambda: in_sync(cluster, "t") == [1, 2, 3], at_most=20)
    replicas = sorted(describe(cluster, "t")[0].replica_nodes)
    tell(state_of(cluster, "t"))
    came = f"the request for [3, 1, 2] was answered {error(code)}, and the partition ends with replicas {replicas}"
    return code == 0 and replicas != [1, 2, 3], came


if __name__ == "__main__":
    run(play, "A reassignment that was acknowledged ends with fewer copies", PROMISED)
