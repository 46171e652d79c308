"""Metrics of late transactions, of producers and of refused verifications (KIP-664, KIP-847, KIP-890)."""

from collections.abc import Iterator

import msgspec
from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.producers.combined_node import MEASURED_STAGE, Log, Stage, StageProducer
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.messages import Answer
from protocol.words import say
from strategies.inputs import FEW_RECORDS

OF_REPLICAS = "kafka.server:type=ReplicaManager,name="
LATE = f"{OF_REPLICAS}PartitionsWithLateTransactionsCount"
PRODUCERS = f"{OF_REPLICAS}ProducerIdCount"
VERIFICATION_FAILURES = "kafka.server:type=AddPartitionsToTxnManager,name=VerificationFailureRate"
BUFFER_MS = 5 * 60_000
"""Milliseconds past the longest transaction timeout after which a transaction counts as late (KIP-664)."""
METRIC_TIMEOUT = 10.0
"""Seconds within which earlier checks' topics are gone; until then their producers are counted."""


def read(stage: Stage, metric: str, attribute: str = "Value") -> int:
    """Return the metric's value; -1 if the broker does not have it."""
    found = stage.bench.metric(stage.broker.node, metric).values
    return int(found[attribute]) if found else -1


def longest_timeout_ms(stage: Stage) -> int:
    name = "transaction.max.timeout.ms"
    found = stage.broker.describe_configs(ResourceType.BROKER, str(stage.bench.id_of(stage.broker.node)), [name])
    return int(found.value(name) or 0)


def written_before(producer: StageProducer, log: Log, age_ms: int, records: int) -> Answer:
    """Write a batch of the transaction, timestamped `age_ms` ago."""
    if not producer.dialect.bumps:
        producer.require(producer.add(log), "producer")
    then = producer.bench.now().unix_ms - age_ms
    return producer.send_accepted(log, msgspec.structs.replace(producer.batch(log, records), timestamp=then))


@probe(
    "KIP360-TXN-15",
    rig=MEASURED_STAGE,
    cases=["late", "ended"],
    smoke=False,
    records=FEW_RECORDS,
    late_s=integers(10, 3_600),
    committed=booleans(),
    second=booleans(),
)
def late_transaction_is_counted(
    stage: Stage, case: str, records: int, late_s: int, committed: bool, second: bool
) -> Claims:
    """A partition with a transaction that is too old is counted until it is ended, one that may still be in time is not."""
    log, in_time = stage.logs(2)
    dialect = stage.newest_dialect if second else "legacy"
    producer, other = stage.transactional(dialect), stage.transactional(dialect)
    limit, before = longest_timeout_ms(stage) + BUFFER_MS, read(stage, LATE)
    early = written_before(other, in_time, limit - 60_000, records)
    unchanged = read(stage, LATE)
    written = written_before(producer, log, limit + late_s * 1_000, records)
    state = log.producer(producer.producer_id)
    yield premise(state is not None and state.current_txn_start_offset == 0, f"the transaction is open: {say(state)}")
    counted = read(stage, LATE)
    if case == "late":
        right = 0 <= before == unchanged and counted == before + 1
        yield held_if(
            right, early, written, detail=f"{before} before, {unchanged} with one in time, {counted} with a late one"
        )
    producer.end(committed)
    ended = producer.describe()
    if case == "ended":
        after = read(stage, LATE)
        yield held_if(
            after == before >= 0, written, ended, detail=f"{before} before, {counted} while open, {after} after"
        )
    other.end(committed)


@probe("KIP360-TXN-15", rig=MEASURED_STAGE, cases=["producer-id-count"], smoke=False, producers=integers(1, 5))
def producers_are_counted(stage: Stage, producers: int) -> Claims:
    """ProducerIdCount is the number of producers that DescribeProducers lists, over all partitions of the broker."""
    logs, answers = stage.logs(2), []
    for n in range(producers):
        answers.append(stage.idempotent().write(logs[n % 2]))
    listed = [0, 0]

    def agree() -> bool:
        listed[:] = [read(stage, PRODUCERS), sum(listed_producers(stage))]
        return listed[0] == listed[1]

    same = stage.bench.wait.becomes_true(agree, "the count of producers", METRIC_TIMEOUT)
    yield held_if(
        same.require_also(listed[1] >= producers),
        *answers,
        detail=f"ProducerIdCount {listed[0]}, DescribeProducers {listed[1]}",
    )


@probe(
    "KIP360-TXN-15",
    rig=MEASURED_STAGE,
    cases=["verification-failures"],
    smoke=False,
    version=integers(3, 10),
    batches=integers(1, 3),
)
def refused_verifications_are_counted(stage: Stage, version: int, batches: int) -> Claims:
    """VerificationFailureRate counts each batch of a partition that is in no transaction, and none that is in one."""
    producer, added, log = stage.transactional(), stage.log(), stage.log()
    counted = [count_of_failures(stage)]
    entered = producer.enter(added)
    counted.append(count_of_failures(stage))
    refused = [producer.send(log, producer.batch(log), version=version) for _ in range(batches)]
    yield premise(
        all(one.error is not Error.NONE for one in refused),
        f"refused: {say(refused)}",
        promised=("KIP360-TXN-01", "produce-v10"),
    )
    counted.append(count_of_failures(stage))
    first, same, after = counted
    yield held_if(
        0 <= first == same and after == same + batches,
        entered,
        *refused,
        detail=f"the metric counted {say(counted)} failures",
    )
    producer.end(True)


def listed_producers(stage: Stage) -> Iterator[int]:
    """Yield the number of producers that the broker lists for each of its partitions."""
    for topic in stage.broker.metadata(None).topics:
        wanted = [(str(topic.name), one.partition) for one in topic.partitions]
        described = stage.broker.describe_producers_many(wanted)
        yield from (len(one.active_producers) for one in described.partitions)


def count_of_failures(stage: Stage) -> int:
    """Return the number of counted failures; 0 while the meter does not exist, before the first one."""
    return max(0, read(stage, VERIFICATION_FAILURES, "Count"))
