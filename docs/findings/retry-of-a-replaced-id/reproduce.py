"""The retry of an InitProducerId that replaced a forgotten producer id is fenced: one broker, half a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, run, tell, until
from kit_free_requests import describe_transaction, error, init_producer, new_producer

NAME = "payments"
PROMISED = "KIP-360: an InitProducerId whose answer was lost, sent again, returns what was assigned by it"


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the second of two equal requests is fenced."""
    cluster.boot(
        transactional_id_expiration_ms="3000", transaction_remove_expired_transaction_cleanup_interval_ms="1000"
    )
    broker = cluster[1]
    cluster.step(
        "a transactional id gets a producer id; then it is idle for longer than transactional.id.expiration.ms"
    )
    id, epoch = new_producer(broker, NAME)
    tell(f"producer {id}, epoch {epoch}")
    until(lambda: describe_transaction(broker, NAME).error_code != 0, "the id is forgotten", at_most=30)
    tell(f"DescribeTransactions: {error(describe_transaction(broker, NAME).error_code)}")

    cluster.step("the producer, which is still there, bumps its epoch: InitProducerId with its old pair")
    first = init_producer(broker, NAME, id, epoch)
    tell(f"{error(first.error_code)}, producer {first.producer_id}, epoch {first.producer_epoch}")

    cluster.step("the answer was lost, say; the same request again")
    again = init_producer(broker, NAME, id, epoch)
    tell(f"{error(again.error_code)}, producer {again.producer_id}, epoch {again.producer_epoch}")
    pair = f"({first.producer_id}, {first.producer_epoch})"
    came = f"the first request was answered {pair}, the second {error(again.error_code)}"
    return first.error_code == 0 and again.producer_id != first.producer_id, came


if __name__ == "__main__":
    run(play, "The retry of an InitProducerId that replaced a forgotten producer id is fenced", PROMISED)
