"""DescribeTransactions shows what its coordinator has acknowledged (KIP-664)."""

from functools import partial

import msgspec
from hypothesis.strategies import integers, lists, sampled_from, text

from conformance.core.checks import Claim, Claims, held_if, probe
from conformance.rigs.producers.combined_node import STAGE, Stage, StageProducer
from protocol.codes import Error
from protocol.transactions import DescribedTransaction
from protocol.words import say
from strategies.inputs import FEW_RECORDS

TIMEOUTS_MS = integers(60_000, 600_000)
STEPS = lists(sampled_from(["add", "offsets", "commit", "abort", "replace"]), min_size=5, max_size=8)


class KnownTransaction(msgspec.Struct):
    """A transaction as its producer knows it, with the epoch of the last acknowledged request."""

    producer: StageProducer
    state: str = "Empty"
    epoch: int = 0
    partitions: frozenset[tuple[str, int]] = frozenset()
    began: tuple[int, int] = (-1, -1)
    """The kit's clock (ms since 1970) before and after the request that opened it."""

    def __str__(self) -> str:
        """Return text that is the same in every process, so that a stored example is judged as before."""
        mine = self.producer
        known = f"id {mine.producer_id}, {self.state} at epoch {self.epoch}, timeout {mine.timeout_ms} ms"
        return f"{known}, partitions {say(sorted(self.partitions))}, began {say(self.began)}"

    def open(self, *partitions: tuple[str, int], around: tuple[int, int]) -> None:
        if self.state != "Ongoing":
            self.began = around
        self.state, self.partitions = "Ongoing", self.partitions | set(partitions)

    def close(self, state: str, epoch: int) -> None:
        self.state, self.epoch, self.partitions = state, epoch, frozenset()

    def shown_by(self, found: DescribedTransaction) -> bool:
        known = (
            Error.NONE,
            self.state,
            self.producer.timeout_ms,
            self.producer.producer_id,
            self.epoch,
            self.partitions,
        )
        shown = (
            found.error,
            found.state,
            found.timeout_ms,
            found.producer_id,
            found.producer_epoch,
            frozenset(found.partitions),
        )
        first, last = self.began
        return shown == known and (self.state != "Ongoing" or first <= found.start_time_ms <= last)


@probe("KIP360-TXN-06", rig=STAGE, cases=["legacy", "tv2"], steps=STEPS, timeout_ms=TIMEOUTS_MS, records=FEW_RECORDS)
def transaction_is_described_after_each_step(
    stage: Stage, case: str, steps: list[str], timeout_ms: int, records: int
) -> Claims:
    """State, producer id, epoch, timeout, start and partitions are those of the last acknowledged request."""
    producer = stage.transactional(case, timeout_ms)
    known = KnownTransaction(producer)
    yield observe_description(known)
    for step in steps:
        yield from take_step(stage, known, step, records)


def take_step(stage: Stage, known: KnownTransaction, step: str, records: int) -> Claims:
    """Let the producer take one step, and observe the description after it. An empty transaction is opened before it is
    ended."""
    producer = known.producer
    if step in ("add", "offsets") or (step != "replace" and known.state != "Ongoing"):
        add_partition(stage, known, offsets=step == "offsets", records=records)
    elif step == "replace":
        replace_instance(known)
    else:
        producer.end(committed=step == "commit")
        known.close("CompleteCommit" if step == "commit" else "CompleteAbort", producer.epoch)
    yield observe_description(known)


def add_partition(stage: Stage, known: KnownTransaction, *, offsets: bool, records: int) -> None:
    """Add a partition of a new log, or the offsets partition of a new group, to the transaction."""
    producer, log, group = known.producer, stage.log(), stage.bench.fresh_name("group")
    before = stage.bench.now().unix_ms
    if offsets:
        producer.require(producer.add_offsets(group), "producer")
    else:
        producer.enter(log, records)
    around = (before, stage.bench.now().unix_ms)
    known.open(("__consumer_offsets", 0) if offsets else log.here, around=around)


def replace_instance(known: KnownTransaction) -> None:
    """Begin a new instance of the transactional id: an open transaction is aborted, at an epoch given to no other
    instance."""
    known.producer = known.producer.successor()
    known.close("Empty", known.producer.epoch)


def observe_description(known: KnownTransaction) -> Claim:
    found = known.producer.describe()
    return held_if(known.shown_by(found), found, detail=f"its producer knows {known}")


@probe(
    "KIP360-TXN-06",
    rig=STAGE,
    cases=["unknown-id", "empty-id"],
    names=lists(text("abcdef", min_size=1), min_size=6, max_size=6, unique=True),
)
def undescribed_transactions(stage: Stage, case: str, names: list[str]) -> Claims:
    """A transactional id that no producer took is answered with TRANSACTIONAL_ID_NOT_FOUND, an empty one with INVALID_REQUEST."""
    for name in names:
        asked = f"{stage.bench.fresh_name('never')}-{name}" if case == "unknown-id" else ""
        found = stage.answer_when_ready(partial(stage.broker.describe_transaction, asked))
        error = Error.TRANSACTIONAL_ID_NOT_FOUND if case == "unknown-id" else Error.INVALID_REQUEST
        yield held_if(found.error is error and not found.partitions, found)
