"""A zombie's InitProducerId aborts its owner's open transaction: one broker, about half a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, run, tell
from kit_free_requests import (
    add_partition,
    append,
    batch,
    create_topic,
    describe_transaction,
    end_transaction,
    error,
    init_producer,
    new_producer,
)

NAME = "payments"
PROMISED = (
    "KIP-360: InitProducerId with the right producer id and an epoch that is neither the current nor the last one is fenced, "
    "and the owner can commit"
)


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the owner's commit is refused after the zombie's request."""
    cluster.boot()
    create_topic(cluster, "t", [[1]])
    broker = cluster[1]

    cluster.step("three instances of one transactional id start, one after the other: only the last one owns it")
    owned = [new_producer(broker, NAME) for _ in range(3)]
    for id, epoch in owned:
        tell(f"InitProducerId: producer {id}, epoch {epoch}")
    id, epoch = owned[-1]
    stale = owned[0][1]

    cluster.step(f"the owner (epoch {epoch}) begins a transaction and writes a record")
    add_partition(broker, NAME, id, epoch, {"t": [0]})
    records = batch("a record", id=id, epoch=epoch, sequence=0, transactional=True)
    tell(f"Produce: appended at offset {append(broker, 't', records, transaction=NAME)}")
    state = describe_transaction(broker, NAME)
    tell(f"DescribeTransactions: {state.transaction_state} at epoch {state.producer_epoch}")

    cluster.step(f"the first instance, fenced long ago, sends InitProducerId with its own pair ({id}, epoch {stale})")
    answer = init_producer(broker, NAME, id, stale)
    tell(f"InitProducerId: {error(answer.error_code)}")
    state = describe_transaction(broker, NAME)
    tell(f"DescribeTransactions: {state.transaction_state} at epoch {state.producer_epoch}")

    cluster.step(f"the owner commits with EndTxn at epoch {epoch}")
    code = end_transaction(broker, NAME, id, epoch, commit=True)
    tell(f"EndTxn(commit): {error(code)}")
    return code != 0, f"the zombie was answered {error(answer.error_code)}, the owner's commit {error(code)}"


if __name__ == "__main__":
    run(play, "A zombie's InitProducerId aborts its owner's open transaction", PROMISED)
