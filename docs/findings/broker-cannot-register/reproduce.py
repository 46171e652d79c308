"""A broker cannot register after a change of min.insync.replicas and a deletion: three brokers, two minutes.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, alive, run, tell, until, waits
from kit_free_requests import alter_topic, create_topic, delete_topic, in_sync, state_of

PROMISED = "a broker that was killed registers again when it is started"

MESSAGE = "but not in the topics map"


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the broker cannot register, and the controller fails at it."""
    cluster.boot(3)
    create_topic(cluster, "t", [[1, 2, 3]], min_insync_replicas="3")
    until(lambda: in_sync(cluster, "t") == [1, 2, 3], "all in sync")

    cluster.step("broker 3 is killed, and leaves the ISR of a topic with min.insync.replicas=3")
    cluster[3].kill()
    until(lambda: in_sync(cluster, "t") == [1, 2], "broker 3 has left the ISR")
    tell(state_of(cluster, "t"))

    cluster.step("min.insync.replicas of the topic is set to 1")
    alter_topic(cluster, "t", "min.insync.replicas", "1")
    tell(state_of(cluster, "t"))

    cluster.step("broker 3 is started, and is in sync again")
    cluster[3].start()
    until(lambda: in_sync(cluster, "t") == [1, 2, 3], "broker 3 is in sync")

    cluster.step("the topic is deleted")
    delete_topic(cluster, "t")

    cluster.step("broker 3 is killed again, and fenced")
    cluster[3].kill()
    until(lambda: alive(cluster) == {1, 2}, "broker 3 is fenced")

    cluster.step("broker 3 is started")
    cluster[3].start(wait=False)
    back = waits(lambda: 3 in alive(cluster), at_most=40)
    process = "runs" if cluster[3].is_running() else "has ended"
    tell(f"after 40 s at most: {'registered' if back else 'not registered'}; its process {process}")
    failures = [line for line in cluster[1].log().splitlines() if MESSAGE in line]
    tell(f"the controller's log has '{MESSAGE}' {len(failures)} times")
    for line in failures[:1]:
        tell(line[:400])
    came = f"broker 3 is {'back' if back else 'not back'}, and the controller failed {len(failures)} times over its registration"
    return not back, came


if __name__ == "__main__":
    run(play, "A broker cannot register after a topic was deleted whose min.insync.replicas had been changed", PROMISED)
