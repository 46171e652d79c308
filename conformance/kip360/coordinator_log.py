"""A transaction coordinator says what its log says (GEN-13): each transactional id, also after it was loaded."""

from collections.abc import Sequence

from hypothesis.strategies import booleans, integers, lists, sampled_from

from conformance.core.checks import Claims, held_if, probe
from conformance.rigs.coordinator_logs import described_at_rest
from conformance.rigs.producers.combined_node import STAGE, Stage, StageProducer
from conformance.rigs.producers.transaction_log import TransactionLog
from protocol.transactions import DescribedTransaction
from protocol.words import say
from strategies.inputs import FEW_RECORDS

TIMEOUTS_MS = integers(60_000, 600_000)
STEPS = lists(sampled_from(["write", "offsets", "commit", "abort", "replace", "bump"]), min_size=6, max_size=9)


class Instance:
    """A transactional id's current instance, and whether it has an open transaction."""

    def __init__(self, stage: Stage, dialect: str, timeout_ms: int) -> None:
        self._stage = stage
        self._producer: StageProducer = stage.transactional(dialect, timeout_ms)
        self.log = TransactionLog(stage.bench, self._producer.transactional_id)
        self._open = False

    def take_step(self, step: str, records: int) -> None:
        """Take one step; if it ends a transaction, open one first."""
        if step in ("replace", "bump"):
            self._renew(step)
            return
        if step in ("write", "offsets") or not self._open:
            self._open_by(step, records)
        if step in ("commit", "abort"):
            self._end(committed=step == "commit")

    def _renew(self, step: str) -> None:
        """Begin another instance, which aborts an open transaction; or abort it and bump this instance's epoch."""
        if step == "replace":
            self._producer = self._producer.successor()
        else:
            self._end(committed=False)
            self._producer.bump()
        self._open = False

    def _open_by(self, step: str, records: int) -> None:
        producer = self._producer
        if step == "offsets":
            producer.require(producer.add_offsets(self._stage.bench.fresh_name("group")), "producer")
        else:
            producer.enter(self._stage.log(), records)
        self._open = True

    def _end(self, *, committed: bool) -> None:
        if self._open:
            self._producer.end(committed)
        self._open = False

    def describe(self) -> DescribedTransaction:
        return self._producer.describe()


def as_logged(instance: Instance, case: str) -> Claims:
    """Check that the transaction's description at rest matches its newest record."""
    shown, logged = yield from described_at_rest(instance.describe, instance.log.newest, _is_at_rest)
    held = logged is not None and logged.is_described_by(shown)
    yield held_if(held, shown, case=case, detail=f"the log has {say(logged)}")


def each_step_as_logged(instance: Instance, steps: Sequence[str], records: int) -> Claims:
    for step in steps:
        instance.take_step(step, records)
        yield from as_logged(instance, "transaction")


def _is_at_rest(shown: DescribedTransaction) -> bool:
    return not shown.state.startswith("Prepare")


@probe(
    "GEN-13",
    rig=STAGE,
    cases=["transaction"],
    steps=STEPS,
    timeout_ms=TIMEOUTS_MS,
    records=FEW_RECORDS,
    newest=booleans(),
)
def transaction_is_described_as_logged(
    stage: Stage, steps: Sequence[str], timeout_ms: int, records: int, newest: bool
) -> Claims:
    """After each step the transaction is described as its newest record has it."""
    yield from each_step_as_logged(Instance(stage, stage.dialects[-1 if newest else 0], timeout_ms), steps, records)


@probe(
    "GEN-13",
    rig=STAGE,
    cases=["loaded-transaction"],
    examples=2,
    smoke=False,
    histories=lists(STEPS, min_size=3, max_size=4),
    timeout_ms=TIMEOUTS_MS,
    records=FEW_RECORDS,
    newest=booleans(),
    clean=booleans(),
)
def loaded_transaction_is_as_logged(
    stage: Stage,
    case: str,
    histories: Sequence[Sequence[str]],
    timeout_ms: int,
    records: int,
    newest: bool,
    clean: bool,
) -> Claims:
    """The same at a coordinator that has loaded the transactional ids, each with a history of its own, and goes on with them."""
    instances = [Instance(stage, stage.dialects[-1 if newest else 0], timeout_ms) for _ in histories]
    for instance, steps in zip(instances, histories, strict=True):
        for step in steps:
            instance.take_step(step, records)
    stage.restart(clean=clean)
    for instance, steps in zip(instances, histories, strict=True):
        yield from as_logged(instance, case)
        yield from each_step_as_logged(instance, steps, records)
