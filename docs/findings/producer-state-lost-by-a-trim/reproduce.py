"""A retried batch is appended again after the log was trimmed to its end: one broker, about half a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Node, run, tell, until
from kit_free_requests import (
    append,
    batch,
    create_topic,
    delete_records,
    describe,
    error,
    list_offset,
    new_producer,
    produce,
)

PROMISED = (
    "KIP-360: the state of an idempotent producer is kept until it expires (a day by default), also when its records are "
    "deleted, so that the retry of an acknowledged batch is recognised"
)


def known_producers(broker: Node) -> list[Any]:
    """Return the producers that the partition knows."""
    from kafka.protocol.admin import DescribeProducersRequest

    topics = [DescribeProducersRequest.TopicRequest(name="t", partition_indexes=[0])]
    return list(broker.ask(DescribeProducersRequest(version=0, topics=topics)).topics[0].partitions[0].active_producers)


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if the retry is appended at a new offset."""
    cluster.boot()
    create_topic(cluster, "t", [[1]])
    broker = cluster[1]

    cluster.step("an idempotent producer writes two batches, which are acknowledged")
    id, epoch = new_producer(broker, None)
    first = append(broker, "t", batch("first", id=id, epoch=epoch, sequence=0))
    retried = batch("second", id=id, epoch=epoch, sequence=1)
    second = append(broker, "t", retried)
    tell(f"producer {id}: sequence 0 at offset {first}, sequence 1 at offset {second}")
    again = produce(broker, "t", retried)
    tell(f"sequence 1 again, as a control: {error(again.error_code)}, offset {again.base_offset}")

    cluster.step("DeleteRecords up to the log's end")
    end = list_offset(broker, "t", -1).offset
    delete_records(broker, "t", end)
    tell(
        f"log start {list_offset(broker, 't', -2).offset}, log end {end}, {len(known_producers(broker))} producer known"
    )

    cluster.step("the broker is stopped in order, and started")
    broker.stop()
    broker.start()
    until(lambda: describe(cluster, "t")[0].leader_id == 1, "the partition is led again")
    tell(f"log end {list_offset(broker, 't', -1).offset}, {len(known_producers(broker))} producers known")

    cluster.step("the producer sends its second batch again, as after a lost answer")
    answer = produce(broker, "t", retried)
    after = list_offset(broker, "t", -1).offset
    tell(f"Produce: {error(answer.error_code)}, offset {answer.base_offset}; log end {after}")
    return (
        after > end,
        f"the retry was answered {error(answer.error_code)}, and the log's end went from {end} to {after}",
    )


if __name__ == "__main__":
    run(play, "The retry of an acknowledged batch is appended again after a trim and a restart", PROMISED)
