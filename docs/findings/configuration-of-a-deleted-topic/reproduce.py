"""A broker keeps the configuration of a deleted topic for the next topic of its name: two brokers, about a minute.

python reproduce.py --image apache/kafka:4.3.1
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit_free import Cluster, Node, run, tell, until
from kit_free_requests import append, batch, create_topic, delete_topic, describe, error, in_sync, produce

PROMISED = "a topic that was created without a configuration of its own has the defaults, on every broker"
LIMIT = "max.message.bytes"
OLD_LIMIT, SIZE = 200, 1000


def limit(node: Node) -> str:
    """Return the limit of the topic's batches as one broker describes it."""
    from kafka.protocol.admin import DescribeConfigsRequest

    kind = DescribeConfigsRequest.DescribeConfigsResource
    wanted = kind(resource_type=2, resource_name="t", configuration_keys=[LIMIT])
    answer = node.ask(DescribeConfigsRequest(version=1, resources=[wanted], include_synonyms=False))
    return str(answer.results[0].configs[0].value)


def elect(cluster: Cluster) -> None:
    """Ask for the election of the preferred leader of partition 0."""
    from kafka.protocol.admin import ElectLeadersRequest

    topics = [ElectLeadersRequest.TopicPartitions(topic="t", partitions=[0])]
    cluster[1].ask(ElectLeadersRequest(version=1, election_type=0, topic_partitions=topics, timeout_ms=10000))


def play(cluster: Cluster) -> tuple[bool, str]:
    """Return True, with what came, if broker 2 has the deleted topic's limit for the new one."""
    cluster.boot(2)
    cluster.step(f"topic t is created on both brokers with {LIMIT}={OLD_LIMIT}")
    create_topic(cluster, "t", [[2, 1]], max_message_bytes=str(OLD_LIMIT))
    tell(f"broker 1 describes {LIMIT}={limit(cluster[1])}")

    cluster.step("broker 2 is killed; topic t is deleted, and created again without any configuration")
    cluster[2].kill()
    until(lambda: describe(cluster, "t")[0].leader_id == 1, "broker 1 leads")
    delete_topic(cluster, "t")
    create_topic(cluster, "t", [[2, 1]])

    cluster.step("broker 2 is started; it joins the ISR")
    cluster[2].start()
    until(lambda: in_sync(cluster, "t") == [1, 2], "broker 2 is in the ISR")
    limits = {id: limit(cluster[id]) for id in (1, 2)}
    tell(f"{LIMIT}: broker 1 describes {limits[1]}, broker 2 describes {limits[2]}")

    cluster.step(f"a record of {SIZE} bytes is sent to the leader: first broker 1, then broker 2")
    append(cluster[1], "t", batch("x" * SIZE))

    def leads() -> bool:
        elect(cluster)
        return bool(describe(cluster, "t", 2)[0].leader_id == 2)

    until(leads, "broker 2 leads")
    code = produce(cluster[2], "t", batch("x" * SIZE)).error_code
    tell(f"broker 1 appended it; broker 2 answered {error(code)}")
    seen = limits[2] != limits[1]
    return seen, f"broker 2 describes {LIMIT}={limits[2]} ({limits[1]} on broker 1), and answers {error(code)}"


if __name__ == "__main__":
    run(play, "A broker keeps the configuration of a deleted topic for the next one of its name", PROMISED)
