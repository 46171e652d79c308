"""Sequence numbers and a partition's producer state (KIP-360, Motivation and Unknown Producer Fencing)."""

from hypothesis.strategies import booleans, integers, lists

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.producers.combined_node import LAST_EPOCH, STAGE, Log, Stage, StageProducer
from conformance.rigs.producers.sequences import (
    REFUSED,
    fill_log,
    is_appended,
    join_transaction,
    move_to_next_epoch,
    premise_of_epoch,
    premise_of_log_length,
    ready_to_write,
    split_kind,
)
from fixtures.views.producer import SEQUENCES
from protocol.codes import Error
from protocol.words import say
from strategies.inputs import RECORDS

REMEMBERED = 5
"""The number of a producer's latest batches that a partition recognises as duplicates."""
AT_ZERO = "-zero"
EPOCHS = integers(0, LAST_EPOCH - 1)
SIZES = lists(integers(1, 4), min_size=1, max_size=4)
MANY_SIZES = lists(integers(1, 4), min_size=REMEMBERED + 1, max_size=8)


@probe(
    "KIP360-SEQ-01",
    rig=STAGE,
    cases=["idempotent", "legacy", "tv2", "tv2-zero"],
    sequence=integers(1, SEQUENCES - 10),
    records=integers(1, 5),
)
def unknown_producer_is_admitted(stage: Stage, case: str, sequence: int, records: int) -> Claims:
    """A producer unknown to the partition may start at any sequence; in TV2 only at 0."""
    idempotent = case == "idempotent"
    producer = stage.idempotent() if idempotent else stage.transactional(case.removesuffix(AT_ZERO))
    log = stage.log()
    if case == "legacy":
        producer.require(producer.add(log), "producer")
    yield premise(log.producer(producer.producer_id) is None, "the partition does not know the producer")
    first = 0 if case.endswith(AT_ZERO) else sequence
    answer = producer.send(log, producer.batch(log, records, sequence=first))
    end = log.end()
    if case == "tv2":
        yield held_if(answer.error is REFUSED and end == 0, answer, detail=f"the log ended at {end}")
    else:
        yield held_if(is_appended(answer, 0) and end == records, answer, detail=f"the log ended at {end}")


@probe("KIP360-SEQ-02", rig=STAGE, epoch=EPOCHS, sizes=SIZES, records=RECORDS, sequence=integers(1, 20))
def new_epoch_starts_at_zero(
    stage: Stage, case: str, epoch: int, sizes: list[int], records: int, sequence: int
) -> Claims:
    """The first batch of the next epoch is accepted at sequence 0 and refused at any other."""
    log, (kind, which) = stage.log(), split_kind(case)
    producer = ready_to_write(stage, kind, log, epoch)
    fill_log(producer, log, sizes)
    yield premise_of_epoch(log.producer(producer.producer_id), producer.epoch)
    move_to_next_epoch(producer, log)
    before = log.end()
    first = 0 if which == "sequence-zero" else sequence
    answer = producer.send(log, producer.batch(log, records, sequence=first))
    if which == "sequence-zero":
        yield held_if(is_appended(answer, before) and log.end() == before + records, answer)
    else:
        yield held_if(answer.error is REFUSED and log.end() == before, answer)


@probe("KIP360-SEQ-03", rig=STAGE, epoch=EPOCHS, sizes=SIZES, gap=integers(1, 1_000_000), records=RECORDS)
def gap_is_refused(stage: Stage, case: str, epoch: int, sizes: list[int], gap: int, records: int) -> Claims:
    """A batch that leaves a gap after the last sequence, or begins inside an old batch, is refused; the log does not grow."""
    log, (kind, which) = stage.log(), split_kind(case)
    producer = ready_to_write(stage, kind, log, epoch)
    sizes = [*sizes[:-1], sizes[-1] + 1]
    fill_log(producer, log, sizes)
    known = log.producer(producer.producer_id)
    as_written = known is not None and known.last_sequence == sum(sizes) - 1
    yield premise(as_written, "the last sequence is known", promised=("KIP360-TXN-07", producer.dialect.name))
    inside = producer.batch(log, sequence=sum(sizes) - 1 - gap % (sizes[-1] - 1))
    beyond = producer.batch(log, records, sequence=sum(sizes) + gap)
    answer = producer.send(log, inside if which == "inside-a-batch" else beyond)
    yield held_if(answer.error is REFUSED and log.end() == sum(sizes), answer)


@probe(
    "KIP360-SEQ-04",
    rig=STAGE,
    epoch=EPOCHS,
    sizes=MANY_SIZES,
    back=integers(1, REMEMBERED - 1),
    later=integers(0, REMEMBERED - 1),
)
def last_five_batches_are_recognised(
    stage: Stage, case: str, epoch: int, sizes: list[int], back: int, later: int
) -> Claims:
    """One of the last five batches, sent again, is answered with its base offset and not appended."""
    log, (kind, which) = stage.log(), split_kind(case)
    producer = ready_to_write(stage, kind, log, epoch)
    former = sizes[: len(sizes) - later] if kind == "legacy" and later else []
    sent = fill_log(producer, log, former)
    if former:
        producer.end(committed=True)
        join_transaction(producer, log)
    sent += fill_log(producer, log, sizes[len(former) :])
    before = log.end()
    yield premise_of_log_length(before, sum(sizes) + bool(former))
    again = sent[-1 if which == "newest" else -1 - back]
    answer = producer.send(log, again.batch)
    end = log.end()
    yield held_if(is_appended(answer, again.answer.base_offset) and end == before, again.answer, answer)


@probe(
    "KIP360-SEQ-05",
    rig=STAGE,
    epoch=EPOCHS,
    sizes=MANY_SIZES,
    over=integers(1, 4),
    back=integers(0, REMEMBERED - 1),
)
def older_and_overlapping_batches_are_refused(
    stage: Stage, case: str, epoch: int, sizes: list[int], over: int, back: int
) -> Claims:
    """The sixth-newest batch, or one that overlaps old and new, is refused, and the log does not grow."""
    log, (kind, which) = stage.log(), split_kind(case)
    producer = ready_to_write(stage, kind, log, epoch)
    sent = fill_log(producer, log, sizes)
    before = log.end()
    yield premise_of_log_length(before, sum(sizes))
    first = sent[-1 - back].batch.base_sequence
    overlap = producer.batch(log, sum(sizes) - first + over, sequence=first)
    answer = producer.send(log, sent[-1 - REMEMBERED].batch if which == "sixth" else overlap)
    yield held_if(answer.error is REFUSED and log.end() == before, answer)


def at_a_newer_epoch(stage: Stage, case: str, log: Log, is_open: bool) -> StageProducer:
    """Create a producer that wrote to the partition at an older epoch and its own; its last transaction may be open."""
    producer = stage.idempotent() if case == "idempotent" else stage.transactional(case)
    if case == "idempotent":
        producer.write(log)
        producer.continue_at(producer.producer_id, producer.epoch + 1)
        producer.write(log)
        return producer
    producer.enter(log)
    producer.end(committed=True)
    if not producer.dialect.bumps:
        producer.bump()
    producer.enter(log)
    if not is_open:
        producer.end(committed=True)
    return producer


@probe("KIP360-SEQ-06", rig=STAGE, is_open=booleans(), sequence=integers(0, 3), records=RECORDS)
def older_epoch_is_refused(stage: Stage, case: str, is_open: bool, sequence: int, records: int) -> Claims:
    """A batch with an epoch below the partition's is refused, and the log does not grow."""
    log = stage.log()
    producer = at_a_newer_epoch(stage, case, log, is_open)
    known = log.producer(producer.producer_id)
    yield premise_of_epoch(known, producer.epoch)
    before = log.end()
    old = producer.batch(log, records, sequence=sequence, epoch=producer.epoch - 1)
    answer = producer.send(log, old)
    yield held_if(answer.error is Error.INVALID_PRODUCER_EPOCH and log.end() == before, answer)


@probe(
    "KIP360-SEQ-08",
    rig=STAGE,
    cases=["described", "legacy-described", "tv2-described"],
    epoch=EPOCHS,
    sizes=SIZES,
    back=integers(0, 3),
    gap=integers(1, 1_000_000),
)
def state_outlives_deleted_records(
    stage: Stage, case: str, epoch: int, sizes: list[int], back: int, gap: int
) -> Claims:
    """With every record deleted the producer is still listed, its duplicate recognised, a gap refused, the next one accepted."""
    log, prefix = stage.log(), case.removesuffix("described")
    producer = ready_to_write(stage, split_kind(case)[0], log, epoch)
    sent = fill_log(producer, log, sizes)
    end = log.end()
    yield premise(log.delete_all_records() == log.start() == end == sum(sizes), "every record is deleted")
    known = log.producer(producer.producer_id)
    as_written = known is not None and (known.producer_epoch, known.last_sequence) == (producer.epoch, end - 1)
    yield held_if(as_written, case=f"{prefix}described", detail=f"without its records, the partition knew {say(known)}")
    again = sent[-1 - min(back, len(sent) - 1)]
    twice = producer.send(log, again.batch)
    recognised = is_appended(twice, again.answer.base_offset) and twice.log_start_offset > twice.base_offset
    yield held_if(recognised and log.end() == end, again.answer, twice, case=f"{prefix}duplicate")
    hole = producer.send(log, producer.batch(log, sequence=end + gap))
    yield held_if(hole.error is REFUSED, hole, case=f"{prefix}gap")
    after = log.end()
    following = producer.send(log, producer.batch(log))
    yield held_if(is_appended(following, after), following, case=f"{prefix}next")


@probe("KIP360-SEQ-20", rig=STAGE, before=integers(1, 5), after=integers(1, 5), epoch=EPOCHS)
def sequences_wrap(stage: Stage, case: str, before: int, after: int, epoch: int) -> Claims:
    """After sequence 2147483647 comes 0, between two batches or inside one."""
    log, (kind, which) = stage.log(), split_kind(case)
    producer = ready_to_write(stage, kind, log, epoch)
    inside = after if which == "inside-a-batch" else 0
    first = producer.send(log, producer.batch(log, before + inside, sequence=SEQUENCES - before))
    second = producer.send(log, producer.batch(log, sequence=inside))
    wrapped = is_appended(first, 0) and is_appended(second, before + inside)
    yield held_if(wrapped and log.end() == before + inside + 1, first, second)
