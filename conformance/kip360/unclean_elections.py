"""Producers and transactions after an unclean election (KIP-360, KIP-664)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.log.unclean_elections import COUPLE, UncleanPartition
from conformance.rigs.producers.producer import CheckProducer
from conformance.rigs.producers.sequences import REFUSED, is_appended
from fixtures.views.nodes import ask_until_served
from fixtures.views.producer import DIALECTS
from fixtures.wire import NodeClient
from fixtures.wire.retriable import error_of
from protocol.codes import Error
from protocol.log import EARLIEST, LATEST, READ_COMMITTED, FetchOptions
from protocol.transactions import ProducerState, TxnMarker
from protocol.words import say
from strategies.inputs import FEW_RECORDS

MARKERS = 1
"""The version of WriteTxnMarkers that the requirement names."""


def producer_on(couple: UncleanPartition, transactional_id: str = "", dialect: str = "legacy") -> CheckProducer:
    bench = couple.bench
    began, asked = bench.now().unix_ms, couple.node(couple.bystander)
    if transactional_id:
        return CheckProducer(bench, began, transactional_id, DIALECTS[dialect]).start()
    return CheckProducer(bench, began, coordinator=lambda: asked).start()


def end_of(couple: UncleanPartition, node: NodeClient, isolation_level: int = 0) -> int:
    return node.list_offsets(couple.name, couple.index, LATEST, isolation_level=isolation_level).offset


@log_scenario("KIP360-SC-07", "KIP360-SEQ-19", rig=COUPLE, kept=FEW_RECORDS, lost=integers(2, 4), size=FEW_RECORDS)
def producer_notices_lost_records(couple: UncleanPartition, kept: int, lost: int, size: int) -> Claims:
    """An unclean leader that has the producer's earlier batches refuses the next one; a bumped epoch goes on from there."""
    producer, heir = producer_on(couple), couple.node(couple.second)
    for _ in range(kept):
        producer.write(couple, size)
    couple.leave_alone(couple.first)
    for _ in range(lost):
        answer = couple.node(couple.first).produce(couple.topic, 0, producer.batch(couple, size))
        yield premise(answer.error is Error.NONE, f"written to one replica: {answer}")
        producer.sequences[couple.name, 0] += size
    couple.lose_leader(couple.first)
    couple.start_lagging(couple.second)
    couple.elect(couple.second)
    known = heir.describe_producers(couple.name, 0).producer(producer.producer_id)
    shorter = known is not None and known.last_sequence < producer.sequences[couple.name, 0] - 1
    yield premise(shorter, f"the new leader has the producer at an earlier sequence: {say(known)}")
    end = end_of(couple, heir)
    gap = heir.produce(couple.topic, 0, producer.batch(couple, size))
    refused = gap.error is REFUSED and end_of(couple, heir) == end
    yield held_if(refused, gap, row="KIP360-SEQ-19", case="gap", detail=f"the new leader knew {say(known)}")
    producer.continue_at(producer.producer_id, producer.epoch + 1)
    bumped = heir.produce(couple.topic, 0, producer.batch(couple, size))
    read = heir.fetch(couple.fetch_from(0))
    values = [record.value for one in read.batches for record in one.records]
    once = len(values) == len(set(values)) == end + size
    yield held_if(is_appended(bumped, end) and once, bumped, read, row="KIP360-SEQ-19", case="bump")
    couple.bench.processes.start(couple.first)
    at_rest(couple)


@log_scenario(
    "KIP360-SC-09",
    "KIP360-TXN-14",
    "KIP360-TXN-09",
    rig=COUPLE,
    cases=["legacy", "tv2"],
    records=FEW_RECORDS,
    before=FEW_RECORDS,
)
def transaction_without_its_marker(couple: UncleanPartition, case: str, records: int, before: int) -> Claims:
    """The marker of a transaction was lost: the open transaction is found, and ended without harm to another's records."""
    other = producer_on(couple, couple.bench.fresh_name("other"), case)
    other.enter(couple, before)
    other.end(committed=True)
    owner = producer_on(couple, couple.bench.fresh_name("owner"), case)
    first = owner.enter(couple, records).base_offset
    couple.leave_alone(couple.first)
    owner.end(committed=True)
    couple.lose_leader(couple.first)
    couple.start_lagging(couple.second)
    couple.elect(couple.second)
    heir = couple.node(couple.second)
    known = ask_until_served(couple.bench, lambda: heir.describe_producers(couple.name, 0)).producer(owner.producer_id)
    yield premise(known is not None and known.current_txn_start_offset == first, f"its marker is lost: {say(known)}")
    if known is None:
        return
    shown, listed = owner.describe(), owner.coordinator().list_transactions(producer_ids=[owner.producer_id])
    decided = shown.state == "CompleteCommit" and (couple.name, 0) not in shown.partitions
    nowhere_open = all(one.state != "Ongoing" for one in listed.transaction_states)
    stuck = end_of(couple, heir, READ_COMMITTED) == first
    found = decided and nowhere_open and stuck
    yield held_if(
        found, shown, listed, row="KIP360-TXN-09", case="found", detail=f"the partition has it open: {say(known)}"
    )
    ended = heir.write_txn_markers([aborting_marker(couple, known)], version=MARKERS)
    free = error_of(ended) is Error.NONE and end_of(couple, heir, READ_COMMITTED) == end_of(couple, heir)
    after = heir.describe_producers(couple.name, 0).producer(owner.producer_id)
    closed = after is not None and after.current_txn_start_offset == -1
    yield held_if(
        free and closed,
        ended,
        row="KIP360-TXN-09",
        case="ended",
        detail=f"after the abort the partition knows {say(after)}",
    )
    read = heir.fetch(
        couple.fetch_from(max(0, heir.list_offsets(couple.name, 0, EARLIEST).offset)),
        FetchOptions(isolation_level=READ_COMMITTED),
    )
    aborted = {one.producer_id for one in read.aborted_transactions or ()}
    there = sum(len(one.records) for one in read.batches if one.producer_id == other.producer_id and not one.control)
    untouched = other.producer_id not in aborted and there == before
    yield held_if(free and closed and untouched, ended, read, row="KIP360-TXN-14", case=case)
    couple.bench.processes.start(couple.first)
    at_rest(couple)


def aborting_marker(couple: UncleanPartition, known: ProducerState) -> TxnMarker:
    """Return the marker that aborts what DescribeProducers shows, as kafka-transactions.sh sends it."""
    return TxnMarker(
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        committed=False,
        partitions=((couple.name, 0),),
        coordinator_epoch=max(0, known.coordinator_epoch),
    )
