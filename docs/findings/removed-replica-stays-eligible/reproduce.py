"""A replica that was reassigned away stays eligible, and the only one left is not elected: three brokers, two minutes.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, alive, run, tell, until, waits
from kit_free_requests import append, batch, create_topic, describe, eligible, error, in_sync, reassign, state_of

PROMISED = (
    "eligible leader replicas are replicas (KIP-966), and a partition whose only replica is alive, with its whole log, "
    "has a leader"
)


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if a broker that is no replica is eligible."""
    cluster.boot(3)
    create_topic(cluster, "moved", [[2, 3]], min_insync_replicas="2")
    create_topic(cluster, "control", [[3]], min_insync_replicas="2")
    until(lambda: in_sync(cluster, "moved") == [2, 3], "both in sync")
    append(cluster[2], "moved", batch("a record"))

    cluster.step("broker 2 is stopped in order, and leaves the ISR of a topic with min.insync.replicas=2")
    cluster[2].stop()
    until(lambda: in_sync(cluster, "moved") == [3], "broker 2 has left the ISR")
    tell(state_of(cluster, "moved"))

    cluster.step("the partition is reassigned to [3], which is all that it has from now on; broker 2 is started")
    tell(f"answered {error(reassign(cluster, 'moved', [3]))}")
    until(lambda: list(describe(cluster, "moved")[0].replica_nodes) == [3], "the reassignment is done")
    cluster[2].start()
    tell(state_of(cluster, "moved"))
    stays = set(eligible(cluster, "moved")) - {3}

    cluster.step("broker 3 is killed, and fenced")
    cluster[3].kill()
    until(lambda: alive(cluster) == {1, 2}, "broker 3 is fenced")
    tell(f"moved:   {state_of(cluster, 'moved')}")
    tell(f"control: {state_of(cluster, 'control')}")

    cluster.step("broker 3 is started")
    cluster[3].start()
    until(lambda: describe(cluster, "control")[0].leader_id == 3, "the control has a leader")
    led = waits(lambda: describe(cluster, "moved")[0].leader_id == 3, at_most=60)
    tell(f"moved:   {state_of(cluster, 'moved')}{'' if led else ', after 60 s'}")
    tell(f"control: {state_of(cluster, 'control')}")
    came = f"eligible without being a replica: {sorted(stays) or 'none'}; "
    return bool(stays) or not led, came + (
        "the partition has its leader" if led else "the partition has no leader for 60 s, the control has"
    )


if __name__ == "__main__":
    run(play, "A replica that was reassigned away stays eligible, and the only one left is not elected", PROMISED)
