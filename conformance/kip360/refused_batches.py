"""Batches that a partition refuses leave no trace (KIP-360, Motivation)."""

from typing import Any

from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.judging.log.former_errors import FORMER_ERRORS
from conformance.rigs.producers.combined_node import STAGE, Log, Stage, StageProducer
from conformance.rigs.producers.sequences import REFUSED, premise_of_description, premise_of_epoch
from protocol.codes import Error
from protocol.records import NewBatch
from protocol.words import say_change
from strategies.inputs import FEW_RECORDS

TRIES = lists(integers(1, 1_000_000), min_size=6, max_size=8)
"""How far each of several batches is off."""


def writer(stage: Stage, log: Log, transactional: bool, records: int) -> StageProducer:
    """Create a producer above epoch 0 that has written to the partition, in an open transaction if `transactional`."""
    producer = stage.transactional(stage.newest_dialect) if transactional else stage.idempotent(1)
    if transactional:
        producer.bump(1)
        producer.enter(log, records)
    else:
        producer.write(log, records)
    return producer


def observe_refusal(log: Log, producer: StageProducer, batch: NewBatch, error: Error, **fields: Any) -> Claim:
    """Observe that the batch is refused with this error, and the partition's offsets and producer state are as
    before."""
    before = log.producer_state(producer.producer_id)
    answer = producer.send(log, batch, **fields)
    after = log.producer_state(producer.producer_id)
    return held_if(
        answer.error is error and after == before,
        answer,
        detail=f"of the partition's state, {say_change(before, after)}",
    )


@probe(
    "KIP360-SEQ-21", rig=STAGE, cases=["sequence", "epoch"], tries=TRIES, transactional=booleans(), records=FEW_RECORDS
)
def refused_batch_leaves_the_state(
    stage: Stage, case: str, tries: list[int], transactional: bool, records: int
) -> Claims:
    """A gap in the sequence or an older epoch is refused; offsets and producer state are as before."""
    log = stage.log()
    producer = writer(stage, log, transactional, records)
    yield premise_of_epoch(log.producer(producer.producer_id), producer.epoch)
    for off in tries:
        if case == "sequence":
            gap = producer.batch(log, records, sequence=producer.sequences[log.here] + off)
            yield observe_refusal(log, producer, gap, REFUSED)
        else:
            old = producer.batch(log, records, sequence=off % 3, epoch=producer.epoch - 1)
            yield observe_refusal(log, producer, old, Error.INVALID_PRODUCER_EPOCH)


@probe("KIP360-SEQ-21", rig=STAGE, cases=["transaction-state"], tries=TRIES, known=booleans(), records=FEW_RECORDS)
def write_outside_a_transaction_leaves_the_state(stage: Stage, tries: list[int], known: bool, records: int) -> Claims:
    """A batch to a partition that the open transaction does not have is refused; nothing of it is left there."""
    log, producer = stage.log(), stage.transactional("legacy")
    if known:
        producer.enter(log, records)
        producer.end(committed=True)
    producer.enter(stage.log(), records)
    shown = producer.describe()
    yield premise_of_description(
        shown.state == "Ongoing" and log.here not in shown.partitions, f"it was not added: {shown}", producer
    )
    for off in tries:
        version = stage.at_most("Produce", 3 + off % 8)
        yield observe_refusal(log, producer, producer.batch(log, records), Error.INVALID_TXN_STATE, version=version)


HOSTILE = lists(
    sampled_from(["duplicate", "gap", "older-epoch", "newer-epoch", "unknown-producer"]), min_size=6, max_size=8
)


@probe("KIP360-SEQ-07", rig=STAGE, cases=["any-produce"], sends=HOSTILE, emptied=booleans(), records=FEW_RECORDS)
def former_errors_do_not_appear(stage: Stage, sends: list[str], emptied: bool, records: int) -> Claims:
    """Whatever a producer sends, no answer to Produce is UNKNOWN_PRODUCER_ID or DUPLICATE_SEQUENCE_NUMBER."""
    log, producer = stage.log(), stage.idempotent(1)
    first = producer.batch(log, records)
    for _ in range(3):
        producer.write(log, records)
    if emptied:
        log.delete_all_records()
    for kind in sends:
        answer = producer.send(log, invalid_batch(stage, producer, log, kind, first))
        yield held_if(answer.error not in FORMER_ERRORS, answer)


def invalid_batch(stage: Stage, producer: StageProducer, log: Log, kind: str, first: NewBatch) -> NewBatch:
    """Return a batch that was sent before, or one that cannot follow."""
    following = producer.sequences[log.here]
    if kind == "unknown-producer":
        return stage.idempotent().batch(log, sequence=following)
    epochs = {"older-epoch": producer.epoch - 1, "newer-epoch": producer.epoch + 1}
    off = {"gap": 7, "newer-epoch": 7}.get(kind, 0)
    return first if kind == "duplicate" else producer.batch(log, sequence=following + off, epoch=epochs.get(kind))
