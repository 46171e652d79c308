"""Transactions decided before a failure: their markers, coordinators and partitions (KIP-98, KIP-360)."""

from typing import Literal

from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.partition import Partition
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.producers.combined_node import is_unchanged
from conformance.rigs.producers.outcomes import MARKERS
from conformance.rigs.producers.producer import CheckProducer
from conformance.rigs.producers.three_brokers import THREE_BROKERS, How, ThreeBrokers
from protocol.codes import Error
from protocol.records import ControlType
from protocol.since import since
from protocol.words import say_change
from strategies.inputs import FEW_RECORDS

EPOCH_FROM = since("InitProducerIdRequest", "ProducerEpoch")
"""The first version of InitProducerId with which a producer can bump its epoch."""
HOW = sampled_from(["kill", "freeze", "move", "stop"])
PREPARED = {True: "PrepareCommit", False: "PrepareAbort"}
COMPLETE = {True: "CompleteCommit", False: "CompleteAbort"}


def check_completion(
    brokers: ThreeBrokers, producer: CheckProducer, partitions: list[Partition], committed: bool, case: str
) -> Claims:
    """Check TXN-12: the transaction is described as complete; each partition has its marker and nothing open."""
    shown = producer.await_completion()
    right = shown.state == COMPLETE[committed]
    yield held_if(right, shown, row="KIP360-TXN-12", case=case, detail=f"it was to become {COMPLETE[committed]}")
    for partition in partitions:
        met, found = brokers.await_marker(partition, producer, MARKERS[committed])
        detail = f"{partition} has {found}, where {MARKERS[committed].name} was decided"
        yield held_if(met, shown, *found.answers, row="KIP360-TXN-12", case=case, detail=detail)


@log_scenario(
    "KIP360-SC-08",
    "KIP360-TXN-12",
    rig=THREE_BROKERS,
    cases=["legacy", "tv2"],
    how=HOW,
    whom=sampled_from(["coordinator", "leader"]),
    records=FEW_RECORDS,
)
def broker_lost_after_the_decision(
    brokers: ThreeBrokers, case: str, how: How, whom: Literal["coordinator", "leader"], records: int
) -> Claims:
    """A coordinator or a leader is replaced right after EndTxn was answered; commit and abort complete everywhere."""
    partitions = brokers.partitions()
    producers = {committed: brokers.transactional(case) for committed in (False, True)}
    for producer in producers.values():
        for partition in partitions:
            producer.enter(partition, records)
    state = brokers.state_partition(producers[True])
    for committed, producer in producers.items():
        producer.require(producer.finish(committed), "producer")
    with brokers.replace_leader(state if whom == "coordinator" else partitions[0], how):
        pass
    for committed, producer in producers.items():
        yield from check_completion(brokers, producer, partitions, committed, case)
    at_rest(*partitions)


@log_scenario(
    "KIP360-SC-19",
    "KIP360-TXN-12",
    rig=THREE_BROKERS,
    cases=["coordinator-load"],
    how=sampled_from(["kill", "stop", "freeze"]),
    newest=booleans(),
    records=FEW_RECORDS,
)
def coordinator_loads_a_prepared_transaction(brokers: ThreeBrokers, how: How, newest: bool, records: int) -> Claims:
    """The markers hang at a frozen leader, so that the next coordinator loads the decision; it writes them all."""
    written: list[Partition] = []
    for committed in (True, False):
        producer = brokers.transactional(brokers.dialects[-1 if newest else 0])
        coordinator = brokers.coordinator_of(producer)
        heir, leader = brokers.successor_and_outsider(producer)
        partitions = [brokers.partition(leader, heir, coordinator), brokers.partition(heir, leader, coordinator)]
        for partition in partitions:
            producer.enter(partition, records)
        with brokers.lose_coordinator_of_prepared(producer, leader, how, committed=committed) as (_, prepared):
            yield premise(prepared.state == PREPARED[committed], f"markers are outstanding: {prepared}")
        yield from check_completion(brokers, producer, partitions, committed, "coordinator-load")
        written += partitions
    at_rest(*written)


@log_scenario(
    "KIP360-SC-20",
    "KIP360-TXN-12",
    rig=THREE_BROKERS,
    cases=["leaderless-partition"],
    newest=booleans(),
    records=FEW_RECORDS,
)
def partition_without_a_leader_at_the_end(brokers: ThreeBrokers, newest: bool, records: int) -> Claims:
    """A partition of the transaction has no leader when EndTxn is sent; it gets its marker when its broker is back."""
    written: list[Partition] = []
    for committed in (True, False):
        producer = brokers.transactional(brokers.dialects[-1 if newest else 0])
        coordinator = brokers.coordinator_of(producer)
        other, holder = brokers.successor_and_outsider(producer)
        alone, beside = brokers.partition(holder, min_insync_replicas="1"), brokers.partition(other, coordinator)
        for partition in (alone, beside):
            producer.enter(partition, records)
        with brokers.without_broker(holder, "kill"):
            brokers.await_no_leader(alone, coordinator)
            producer.require(producer.finish(committed), "producer")
        yield from check_completion(brokers, producer, [alone, beside], committed, "leaderless-partition")
        written += [alone, beside]
    at_rest(*written)


@probe(
    "KIP360-INIT-12",
    rig=THREE_BROKERS,
    cases=["prepare-commit", "prepare-abort"],
    smoke=False,
    versions=lists(integers(0, 5), min_size=6, max_size=8),
    newest=booleans(),
    records=FEW_RECORDS,
)
def init_while_markers_are_outstanding(
    brokers: ThreeBrokers, case: str, versions: list[int], newest: bool, records: int
) -> Claims:
    """While a frozen leader keeps a transaction from completing, InitProducerId is answered "retry" and changes nothing."""
    producer = brokers.transactional(brokers.dialects[-1 if newest else 0])
    _, leader = brokers.successor_and_outsider(producer)
    partition, committed = brokers.partition(leader, min_insync_replicas="1"), case == "prepare-commit"
    producer.enter(partition, records)
    asked = producer.with_coordinator(brokers.bench.node(brokers.coordinator_of(producer)))
    with brokers.without_broker(leader, "freeze"):
        ended = asked.require(asked.finish(committed), "producer")
        epoch = ended.producer_epoch if asked.dialect.bumps else asked.epoch
        before = asked.describe()
        yield premise(before.state == PREPARED[committed], f"markers are outstanding: {before}")
        for version in versions:
            pair = (-1, -1) if version < EPOCH_FROM else (asked.producer_id, epoch)
            answer = asked.init_once(*pair, version=brokers.at_most("InitProducerId", version))
            after = asked.describe()
            yield premise(after.state == before.state, f"still outstanding: {after}")
            retry = answer.error is Error.CONCURRENT_TRANSACTIONS and is_unchanged(before, after)
            yield held_if(retry, answer, detail=f"of the transaction, {say_change(before, after)}")
    partition.wait_until_whole()


WAITS_MS = 5_000
"""A transaction timeout in milliseconds that ends after the coordinator was replaced."""


@log_scenario(
    "KIP360-SC-06",
    "KIP360-TXN-03",
    rig=THREE_BROKERS,
    cases=["fail-over"],
    how=HOW,
    newest=booleans(),
    records=FEW_RECORDS,
)
def coordinator_lost_before_the_time_out(brokers: ThreeBrokers, how: How, newest: bool, records: int) -> Claims:
    """The next coordinator aborts a transaction that is open for too long, on each partition, and fences its epoch."""
    producer = brokers.transactional(brokers.dialects[-1 if newest else 0], WAITS_MS)
    state, partitions = brokers.state_partition(producer), brokers.partitions()
    for partition in partitions:
        producer.enter(partition, records)
    with brokers.replace_leader(state, how):
        pass
    shown = producer.await_completion("time-out")
    aborted = (shown.state, shown.producer_epoch) == ("CompleteAbort", producer.epoch + 1)
    for partition in partitions:
        met, found = brokers.await_marker(partition, producer, ControlType.ABORT)
        late = producer.send(partition, producer.batch(partition))
        held = met.require_also(late.error is Error.INVALID_PRODUCER_EPOCH) if aborted else False
        detail = f"{partition} has {found}"
        yield held_if(held, shown, late, *found.answers, row="KIP360-TXN-03", case="fail-over", detail=detail)
    at_rest(*partitions)
