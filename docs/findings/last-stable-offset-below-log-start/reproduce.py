"""After a trim the last stable offset stays below the log start offset: one broker, about half a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Node, run, tell, waits
from kit_free_requests import (
    add_partition,
    append,
    batch,
    create_topic,
    delete_records,
    end_transaction,
    error,
    fetch,
    list_offset,
    new_producer,
)

NAME = "payments"
PROMISED = (
    "log start offset <= last stable offset <= high watermark: a read_committed consumer that resets to the latest offset "
    "gets a position that it can fetch from"
)


def positions(broker: Node, offset: int) -> tuple[int, int, int]:
    """Fetch as a read_committed consumer; return the error, the log start and the last stable offset."""
    answer = fetch(broker, "t", offset, committed=True)
    return answer.error_code, answer.log_start_offset, answer.last_stable_offset


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the latest stable offset is below the earliest offset."""
    cluster.boot()
    create_topic(cluster, "t", [[1]])
    broker = cluster[1]

    cluster.step("a transaction begins and writes offsets 0 to 2; another producer appends one batch, offsets 3 to 4")
    id, epoch = new_producer(broker, NAME)
    add_partition(broker, NAME, id, epoch, {"t": [0]})
    open_records = batch("a", "b", "c", id=id, epoch=epoch, sequence=0, transactional=True)
    tell(f"transactional batch: offset {append(broker, 't', open_records, transaction=NAME)}")
    tell(f"plain batch of two:  offset {append(broker, 't', batch('d', 'e'))}")

    cluster.step("DeleteRecords below 4, which is inside the plain batch")
    delete_records(broker, "t", 4)

    cluster.step("a read_committed consumer resets to the latest offset, and fetches from there")
    positions(broker, 4)
    earliest, latest = list_offset(broker, "t", -2).offset, list_offset(broker, "t", -1, committed=True).offset
    tell(f"ListOffsets: earliest {earliest}, latest (read_committed) {latest}")
    code, start, stable = positions(broker, latest)
    tell(f"Fetch from {latest}: {error(code)}")
    _, start, stable = positions(broker, earliest)
    tell(f"Fetch from {earliest}: log start {start}, last stable offset {stable}")

    cluster.step("the transaction is committed")
    tell(f"EndTxn: {error(end_transaction(broker, NAME, id, epoch, commit=True))}")
    mended = waits(lambda: list_offset(broker, "t", -1, committed=True).offset > earliest, at_most=10)
    tell(f"ListOffsets: latest (read_committed) {list_offset(broker, 't', -1, committed=True).offset}")
    came = f"earliest {earliest}, latest stable {latest}, and Fetch from there {error(code)}"
    return latest < earliest, f"{came}; {'right' if mended else 'not right'} once the transaction had ended"


if __name__ == "__main__":
    run(play, "After a trim the last stable offset is below the log start offset", PROMISED)
