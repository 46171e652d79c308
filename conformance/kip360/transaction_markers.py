"""Transaction markers that arrive late (KIP-890, KIP-1228)."""

from functools import partial

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.producers.combined_node import STAGE, Log, Stage
from conformance.rigs.producers.outcomes import MARKERS
from conformance.rigs.producers.sequences import premise_of_epoch
from fixtures.views.nodes import ask_until_granted
from fixtures.wire.retriable import error_of
from protocol.codes import Error
from protocol.since import since
from protocol.transactions import ProducerState, TxnMarker, WriteTxnMarkersAnswer
from protocol.words import say, say_change
from strategies.inputs import FEW_RECORDS

TRANSACTION_VERSION_FROM = since("WriteTxnMarkersRequest", "TransactionVersion")
"""The first version of WriteTxnMarkers with a transaction version."""
TV2 = 2


def write_marker(
    log: Log, producer_id: int, epoch: int, coordinator_epoch: int, committed: bool, version: int, strict: bool = True
) -> WriteTxnMarkersAnswer:
    """Write a marker as a coordinator does; `strict` sets transaction version 2, if the request version has it."""
    marker = TxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        committed=committed,
        partitions=(log.here,),
        coordinator_epoch=coordinator_epoch,
        transaction_version=TV2 if strict and version >= TRANSACTION_VERSION_FROM else 0,
    )
    return log.stage.broker.write_txn_markers([marker], version=version)


@probe(
    "KIP360-FENCE-04",
    rig=STAGE,
    epoch=integers(0, 100),
    raised=integers(1, 3),
    coordinator_epoch=integers(5, 1000),
    back=integers(1, 5),
    committed=booleans(),
)
def old_coordinator_is_fenced(
    stage: Stage, case: str, epoch: int, raised: int, coordinator_epoch: int, back: int, committed: bool
) -> Claims:
    """A marker with an older coordinator epoch is refused, and the partition's producer state stays as it was."""
    producer, log = stage.idempotent(epoch), stage.log()
    producer.write(log)
    version = int(case.removeprefix("v"))
    marked = partial(write_marker, log, producer.producer_id, epoch + 1, coordinator_epoch, committed, version)
    ask_until_granted(stage.bench, marked, "a first marker accepted")
    before = log.producer(producer.producer_id)
    as_marked = before is not None and before.coordinator_epoch == coordinator_epoch
    yield premise(as_marked, f"coordinator epoch {coordinator_epoch}", promised=("KIP360-TXN-07", "legacy"))
    old = coordinator_epoch - back
    answer = write_marker(log, producer.producer_id, epoch + 1 + raised, old, committed, version)
    after = log.producer(producer.producer_id)
    fenced = error_of(answer) is Error.TRANSACTION_COORDINATOR_FENCED
    yield held_if(fenced and after == before, answer, detail=f"of the partition's state, {say_change(before, after)}")


@probe(
    "KIP360-FENCE-05",
    rig=STAGE,
    cases=["older-epoch", "older-epoch-open"],
    bumps=integers(1, 5),
    committed=booleans(),
    version=integers(1, 2),
    strict=booleans(),
    newest=booleans(),
    records=FEW_RECORDS,
)
def older_marker_is_refused(
    stage: Stage, case: str, bumps: int, committed: bool, version: int, strict: bool, newest: bool, records: int
) -> Claims:
    """A marker with a producer epoch below the partition's is refused, and leaves a transaction of the newer epoch alone."""
    producer, log = stage.transactional(stage.newest_dialect if newest else "legacy"), stage.log()
    old = producer.epoch
    producer.bump(bumps)
    producer.enter(log, records)
    if case == "older-epoch":
        producer.end(committed=not committed)
    before = log.producer_state(producer.producer_id)
    known = before.producer
    yield premise_of_epoch(known, producer.epoch)
    is_open = known is not None and known.current_txn_start_offset >= 0
    named = ("KIP360-TXN-07", producer.dialect.name)
    yield premise(is_open == (case == "older-epoch-open"), f"open: {say(is_open)}", promised=named)
    coordinator_epoch = max(0, known.coordinator_epoch) if known else 0
    version = stage.at_most("WriteTxnMarkers", version)
    answer = write_marker(log, producer.producer_id, old, coordinator_epoch, committed, version, strict)
    after = log.producer_state(producer.producer_id)
    fenced = error_of(answer) is Error.INVALID_PRODUCER_EPOCH
    yield held_if(fenced and after == before, answer, detail=f"of the partition's state, {say_change(before, after)}")


def stable_fields(state: ProducerState) -> tuple[int, ...]:
    """Return the fields that a repeated marker, appended once more, leaves unchanged."""
    return state.producer_epoch, state.last_sequence, state.coordinator_epoch, state.current_txn_start_offset


@probe(
    "KIP360-FENCE-05",
    rig=STAGE,
    cases=["equal-epoch-open", "repeated"],
    finished=integers(1, 3),
    committed=booleans(),
    records=FEW_RECORDS,
)
def marker_of_the_same_epoch(stage: Stage, case: str, finished: int, committed: bool, records: int) -> Claims:
    """In TV2 the last transaction's marker, sent again, is a harmless repeat until the next transaction opens."""
    producer, log = stage.transactional(stage.newest_dialect), stage.log()
    for _ in range(finished):
        producer.enter(log, records)
        producer.end(committed)
    if case == "equal-epoch-open":
        producer.enter(log, records)
    before = log.producer(producer.producer_id)
    dialect = producer.dialect.name
    if before is None:
        yield premise(False, "the partition knows the producer", promised=("KIP360-TXN-07", dialect))
        return
    is_open = before.current_txn_start_offset >= 0
    yield premise(is_open == (case == "equal-epoch-open"), f"open: {say(is_open)}", promised=("KIP360-TXN-07", dialect))
    answer = write_marker(log, producer.producer_id, before.producer_epoch, before.coordinator_epoch, committed, 2)
    after = log.producer(producer.producer_id)
    if case == "repeated":
        same = after is not None and stable_fields(after) == stable_fields(before) and log.stable_end() == log.end()
        repeated = error_of(answer) is Error.NONE and same and log.last_marker() is MARKERS[committed]
        yield held_if(repeated, answer, detail=f"of the producer's state, {say_change(before, after)}")
    else:
        fenced = error_of(answer) is Error.INVALID_PRODUCER_EPOCH
        yield held_if(
            fenced and after == before, answer, detail=f"of the producer's state, {say_change(before, after)}"
        )
