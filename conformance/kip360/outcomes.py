"""How transactions end, read from the log: markers, what read_committed consumers get, last stable offsets (KIP-98, KIP-360)."""

from hypothesis.strategies import booleans, integers, lists, permutations, sampled_from

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.producers.combined_node import STAGE, Log, Stage, StageProducer
from conformance.rigs.producers.outcomes import ALL, KnownRecords, StableOffsets
from conformance.rigs.producers.sequences import premise_of_open_transaction
from conformance.rigs.versions import BACK, choose_version
from protocol.since import since
from protocol.words import say
from strategies.inputs import FEW_RECORDS

LOWEST = since("FetchRequest", "IsolationLevel")
ENDS = lists(booleans(), min_size=3, max_size=5)
"""The outcomes of several transactions: True to commit."""


@probe(
    "KIP360-TXN-13",
    rig=STAGE,
    cases=["legacy", "tv2"],
    ends=ENDS,
    records=FEW_RECORDS,
    between=integers(0, 2),
    back=BACK,
)
def whole_transactions_are_read(
    stage: Stage, case: str, ends: list[bool], records: int, between: int, back: int
) -> Claims:
    """A read_committed consumer is given the committed transactions on each of their partitions, and no others."""
    producer, plain = stage.transactional(case), stage.idempotent()
    partitions = [KnownRecords(log) for log in stage.logs(2)]
    version = choose_version(stage.bench, "Fetch", back, low=LOWEST)
    for committed in ends:
        for known in partitions:
            known.write(producer, records)
            if between:
                known.write(plain, between)
        yield premise_of_open_transaction(producer.describe(), producer)
        for known in partitions:
            held, read = known.fetch_once(version)
            yield held_if(held, read)
        producer.end(committed)
        for known in partitions:
            known.end(producer, committed)
            held, read = known.fetch_once(version)
            yield held_if(held, read)


@probe(
    "KIP360-TXN-13",
    rig=STAGE,
    cases=["any-range"],
    turns=lists(integers(0, 2), min_size=5, max_size=8),
    ends=lists(booleans(), min_size=2, max_size=2),
    records=FEW_RECORDS,
    most=sampled_from([1, ALL]),
)
def any_range_shows_whole_transactions(
    stage: Stage, turns: list[int], ends: list[bool], records: int, most: int
) -> Claims:
    """A Fetch from any offset of overlapping transactions shows the committed ones, and lists the aborted ones."""
    known = KnownRecords(stage.log())
    dialects = ("legacy", stage.newest_dialect)
    transactional = [stage.transactional(dialect) for dialect in dialects]
    writers = [*transactional, stage.idempotent()]
    for turn in (0, 1, *turns):
        known.write(writers[turn], records)
    for producer, committed in zip(transactional, ends, strict=True):
        producer.end(committed)
        known.end(producer, committed)
    known.write(writers[2], records)
    yield from known.observe_each_offset("any-range", most=most)


@probe(
    "KIP360-TXN-10",
    rig=STAGE,
    order=permutations([0, 1, 2]),
    ends=lists(booleans(), min_size=3, max_size=3),
    records=FEW_RECORDS,
    trimmed=booleans(),
)
def last_stable_offset_follows_open_transactions(
    stage: Stage, order: list[int], ends: list[bool], records: int, trimmed: bool
) -> Claims:
    """The last stable offset stays below open transactions, moves on as they end, and at rest is the high watermark."""
    known, plain = KnownRecords(stage.log()), stage.idempotent()
    producers = [stage.transactional(dialect) for dialect in ("legacy", stage.newest_dialect, "legacy")]
    seen = StableOffsets(known)
    yield from seen.look()
    for producer in producers:
        known.write(plain, 1)
        known.write(producer, records)
        yield from seen.look()
    if trimmed:
        known.log.delete_all_records()
        yield from seen.look()
    for index in order:
        producers[index].end(ends[index])
        known.end(producers[index], ends[index])
        yield from seen.look()
    known.write(plain, 1)
    yield from seen.look()


# --- what the partition tells about its producers


@probe("KIP360-TXN-07", rig=STAGE, cases=["legacy", "tv2"], ends=ENDS, records=FEW_RECORDS)
def partition_describes_its_producers(stage: Stage, case: str, ends: list[bool], records: int) -> Claims:
    """After each batch and each marker DescribeProducers shows what the log holds of the producer."""
    log, producer = stage.log(), stage.transactional(case)
    for committed in ends:
        first = log.end()
        producer.enter(log, records)
        yield described_by_the_log(log, producer, open_from=first)
        producer.write(log, records)
        yield described_by_the_log(log, producer, open_from=first)
        producer.end(committed)
        yield described_by_the_log(log, producer, open_from=-1)


def described_by_the_log(log: Log, producer: StageProducer, *, open_from: int) -> Claim:
    """Observe that the partition's state of a producer matches its last batch or marker in the log."""
    own = [one for one in log.batches() if one.producer_id == producer.producer_id]
    data = [one for one in own if not one.control]
    if not data:
        state = log.producer_state(producer.producer_id)
        return held_if(
            False, detail=f"no batch of producer {producer.producer_id}, which wrote, is in the log: {say(state)}"
        )
    markers = [one.records[0].coordinator_epoch for one in own if one.control]
    forgotten = producer.dialect.bumps and own[-1].control
    last = -1 if forgotten else data[-1].base_sequence + len(data[-1].records) - 1
    wanted = (own[-1].producer_epoch, last, markers[-1] if markers else -1, open_from)
    known = log.producer(producer.producer_id)
    shown = known and (
        known.producer_epoch,
        known.last_sequence,
        known.coordinator_epoch,
        known.current_txn_start_offset,
    )
    epoch, sequence, coordinator, start = wanted
    logged = f"epoch {epoch}, last sequence {sequence}, coordinator epoch {coordinator}, open from {start}"
    return held_if(shown == wanted, detail=f"the log has {logged}, and the partition {say(known)}")
