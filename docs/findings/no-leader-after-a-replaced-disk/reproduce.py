"""After its disk was replaced a broker may not lead its partitions: two brokers, two to three minutes; a race.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, alive, run, tell, until, waits
from kit_free_requests import create_topic, describe

PROMISED = (
    "a partition whose only replica is alive has a leader; before KIP-858 it was elected at once, with an empty log"
)


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if a partition has no leader 25 s after its broker is back."""
    cluster.boot(2)
    stuck = rounds = 0
    begin = time.monotonic()
    while rounds < 4 and time.monotonic() - begin < 90:
        rounds += 1
        topic = f"t{rounds}"
        create_topic(cluster, topic, [[2]] * 6)
        cluster.step(
            f"round {rounds}: broker 2 is stopped, gets an empty disk, and is started; six partitions are on it alone"
        )
        cluster[2].stop()
        until(lambda: alive(cluster) == {1}, "broker 2 is fenced")
        cluster[2].on_disk("rm -rf /data/log")
        cluster[2].start()
        led = waits(
            lambda topic=topic: all(one.leader_id == 2 for one in describe(cluster, topic).values()), at_most=25
        )
        leaders = [one.leader_id for one in describe(cluster, topic).values()]
        tell(f"broker 2 is alive: {2 in alive(cluster)}; leaders {leaders}{'' if led else ', for 25 s'}")
        stuck += not led
    return stuck > 0, f"partitions without a leader in {stuck} of {rounds} rounds"


if __name__ == "__main__":
    run(play, "A race decides whether a partition whose only disk was replaced gets a leader", PROMISED)
