"""An epoch that becomes stale between the coordinator's verification of a batch and its append (KIP-890,
KAFKA-19690)."""

from collections.abc import Sequence
from contextlib import ExitStack

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise
from conformance.rigs.log.partition import Partition, PartitionData, new_topics
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.producers.producer import CheckProducer
from conformance.rigs.producers.three_brokers import THREE_BROKERS, ThreeBrokers
from protocol.codes import Error
from protocol.log import ProduceAnswer, ProducePartition
from protocol.words import say
from strategies.inputs import FEW_RECORDS

RACED = (Error.INVALID_PRODUCER_EPOCH, Error.INVALID_TXN_STATE)
"""Answers to a batch whose transaction was aborted after the verification."""
ANSWER_TIMEOUT = 30.0
SOON = 1.0
"""The time limit in seconds: a frozen leader is fenced after three."""


def create_partitions(brokers: ThreeBrokers, name: str, count: int) -> list[Partition]:
    """Create partitions on this broker alone."""
    topics = new_topics(brokers.bench, [(brokers.bench.id_of(name),)] * count, min_insync_replicas="1")
    made = [Partition(brokers.bench, PartitionData(topic, 0)) for topic in topics]
    for partition in made:
        partition.wait_until_whole()
    return made


def abort_after_verification(
    brokers: ThreeBrokers, producer: CheckProducer, leader: str, partitions: Sequence[Partition], records: int
) -> tuple[bool, ProduceAnswer]:
    """Freeze the coordinator until the leader has asked it, and the leader until the transaction is being aborted.

    Then the verification's answer and the abort's markers wait for the leader together. Returns whether the coordinator
    was seen to have the partitions and then to abort, and the answer to the batches.
    """
    coordinator, node = brokers.coordinator_of(producer), brokers.bench.node(leader)
    asked = producer.with_coordinator(brokers.bench.node(coordinator))
    batches = [ProducePartition(one.topic, one.index, producer.batch(one, records)) for one in partitions]
    with ExitStack() as frozen:
        with brokers.without_broker(coordinator, "freeze"):
            parked = node.park_produce(
                batches,
                timeout_ms=int(ANSWER_TIMEOUT * 1000),
                transactional_id=producer.transactional_id,
                version=brokers.at_most("Produce", producer.dialect.produce),
            )
            node.describe_producers(partitions[0].name, 0)
            frozen.enter_context(brokers.without_broker(leader, "freeze"))
        wanted = {(one.name, one.index) for one in partitions}
        added = brokers.bench.wait.becomes_true(
            lambda: wanted <= {*asked.describe().partitions}, "partitions added", SOON
        )
        asked.init_once()
        aborts = brokers.bench.wait.becomes_true(lambda: asked.describe().state == "PrepareAbort", "an abort", SOON)
    return bool(added.outcome and aborts.outcome), node.parked_produce(parked, within=ANSWER_TIMEOUT)


@log_scenario(
    "KIP360-SC-21",
    "KIP360-FENCE-06",
    rig=THREE_BROKERS,
    cases=["legacy", "tv2"],
    examples=4,
    count=integers(8, 12),
    records=FEW_RECORDS,
)
def epoch_grows_stale_behind_the_verification(brokers: ThreeBrokers, case: str, count: int, records: int) -> Claims:
    """A new instance aborts a transaction whose batches were verified and not yet appended: those refused are fenced."""
    producer = brokers.transactional(case)
    _, leader = brokers.successor_and_outsider(producer)
    partitions = create_partitions(brokers, leader, count + 1)
    producer.enter(partitions[0])
    producer.end(committed=True)
    producer.enter(partitions[0])
    if not producer.dialect.bumps:
        producer.require(producer.add(*partitions[1:]), "producer")
    added, answer = abort_after_verification(brokers, producer, leader, partitions[1:], records)
    producer.await_completion()
    at_rest(*partitions)
    raced = [one for one in answer.partitions if one.error in RACED]
    verified = producer.dialect.bumps or any(one.error is Error.NONE for one in answer.partitions)
    overtaken = added and verified and bool(raced)
    yield premise(overtaken, f"some were verified before the abort and refused after it: {say(added)}; {answer}")
    for one in raced:
        yield held_if(one.error is Error.INVALID_PRODUCER_EPOCH, one)
