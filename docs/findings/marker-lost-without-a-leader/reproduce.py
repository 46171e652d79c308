"""A transaction that ends while a partition has no leader leaves it open for good: two brokers, about a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, run, tell, until, waits
from kit_free_requests import (
    add_partition,
    append,
    batch,
    create_topic,
    describe,
    describe_transaction,
    end_transaction,
    error,
    list_offset,
    new_producer,
)

PROMISED = "once EndTxn was answered without an error, each partition of the transaction gets its marker"

NAME = "payments"


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the transaction is complete, and still open on the partition that had no leader."""
    cluster.boot(2)
    create_topic(cluster, "__transaction_state", [[1]], cleanup_policy="compact")
    create_topic(cluster, "here", [[1]])
    create_topic(cluster, "away", [[2]])

    cluster.step("a transaction writes to a partition of broker 1, its coordinator, and to one of broker 2")
    id, epoch = new_producer(cluster[1], NAME)
    add_partition(cluster[1], NAME, id, epoch, {"here": [0], "away": [0]})
    for number, topic in ((1, "here"), (2, "away")):
        records = batch("a record", id=id, epoch=epoch, sequence=0, transactional=True)
        tell(f"{topic}: appended at offset {append(cluster[number], topic, records, transaction=NAME)}")

    cluster.step("broker 2 is killed, and its partition has no leader")
    cluster[2].kill()
    until(lambda: describe(cluster, "away")[0].leader_id == -1, "no leader")

    cluster.step("EndTxn(commit)")
    tell(f"answered {error(end_transaction(cluster[1], NAME, id, epoch, commit=True))}")
    waits(lambda: describe_transaction(cluster[1], NAME).transaction_state == "CompleteCommit", at_most=10)
    tell(f"DescribeTransactions: {describe_transaction(cluster[1], NAME).transaction_state}")

    cluster.step("broker 2 is started, and leads its partition again")
    cluster[2].start()
    until(lambda: describe(cluster, "away")[0].leader_id == 2, "broker 2 leads")
    closed = waits(lambda: list_offset(cluster[2], "away", -1, committed=True).offset > 0, at_most=30)
    state = describe_transaction(cluster[1], NAME).transaction_state
    for number, topic in ((1, "here"), (2, "away")):
        end, stable = (list_offset(cluster[number], topic, -1, committed=mode).offset for mode in (False, True))
        tell(f"{topic}: log end {end}, last stable offset {stable}")
    lines = [line for line in cluster[1].log().splitlines() if "likely deleted already" in line]
    tell(
        f"the coordinator's log: {lines[0][:300]}"
        if lines
        else "the coordinator's log does not take the partition for deleted"
    )
    came = f"the transaction is {state}, and the partition that had no leader "
    return not closed, came + ("got its marker" if closed else "has no marker 30 s after it has a leader again")


if __name__ == "__main__":
    run(play, "A transaction that ends while one of its partitions has no leader never gets its marker there", PROMISED)
