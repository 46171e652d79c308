"""The partitions of the producer machine."""

from conformance.core.bench import Bench
from conformance.rigs.log.partition import Partition, PartitionData
from conformance.rigs.topics import create_topics
from protocol.topics import NewTopic


def new_partitions(bench: Bench) -> dict[str, Partition]:
    """Create fresh topics. The first look-up of a transactional id creates the coordinators' topic."""
    ids = tuple(bench.id_of(name) for name in bench.brokers)
    turned = tuple((*ids[n:], *ids[:n]) for n in range(3))
    wanted = [
        NewTopic(bench.fresh_name("strict"), turned, configs={"min.insync.replicas": "2"}),
        NewTopic(bench.fresh_name("loose"), turned[1:2], configs={"min.insync.replicas": "1"}),
    ]
    strict, loose = create_topics(bench, wanted)
    partitions = {f"strict-{n}": Partition(bench, PartitionData(strict, n)) for n in range(3)}
    partitions["loose-0"] = Partition(bench, PartitionData(loose, 0))
    for partition in partitions.values():
        partition.wait_until_whole()
    return partitions
