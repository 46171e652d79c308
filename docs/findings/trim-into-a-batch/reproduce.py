"""A trim into a batch makes a diverged follower fail: three brokers, about a minute and a half.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, run, tell, until, waits
from kit_free_requests import append, batch, create_topic, delete_records, diverge, in_sync, list_offset, state_of

PROMISED = "a former leader truncates to where its log and the leader's agree, and joins the ISR"

WORDS = ("Truncating to offset", "UnexpectedAppendOffsetException", "marked as failed")


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the diverged replica stays out of the ISR."""
    cluster.boot(3)
    create_topic(cluster, "t", [[2, 3]])
    until(lambda: in_sync(cluster, "t") == [2, 3], "both in sync")
    diverge(cluster, "t", kept=1, lost=2)

    cluster.step("broker 3 takes one batch of two records, in place of those that it lost")
    first = append(cluster[3], "t", batch("new a", "new b"))
    tell(f"appended at offset {first}")

    cluster.step(f"DeleteRecords below {first + 1}, which is inside that batch")
    delete_records(cluster[3], "t", first + 1)
    tell(f"log start {list_offset(cluster[3], 't', -2).offset}, log end {list_offset(cluster[3], 't', -1).offset}")

    cluster.step("broker 2, which still has the two other records, is started")
    cluster[2].start()
    joined = waits(lambda: in_sync(cluster, "t") == [2, 3], at_most=30)
    tell(f"{state_of(cluster, 't')}{'' if joined else ', after 30 s'}")
    told_by_log = [line for line in cluster[2].log().splitlines() if any(word in line for word in WORDS)]
    for line in told_by_log[:4]:
        tell(f"log of broker 2: {line[:260]}")
    return not joined, f"broker 2 {'is in the ISR' if joined else 'stays out of the ISR'}"


if __name__ == "__main__":
    run(play, "A trim into a batch makes a diverged follower truncate too little, and fail", PROMISED)
