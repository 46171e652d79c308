"""InitProducerId of the current producer (KIP-360, Safe Epoch Incrementing)."""

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, PremiseClaim, held_if, premise, probe
from conformance.rigs.producers.combined_node import LAST_EPOCH, STAGE, Stage, StageProducer
from conformance.rigs.producers.sequences import gives_id, premise_of_bump, premise_of_description
from fixtures.views.producer import COMPLETE, LEGACY
from protocol.codes import Error
from protocol.transactions import DescribedTransaction
from strategies.inputs import EPOCH_BUMPS


def is_idle_at(shown: DescribedTransaction, producer: StageProducer) -> bool:
    """True if the coordinator has this producer id and epoch, and no open transaction."""
    held = (shown.producer_id, shown.producer_epoch) == (producer.producer_id, producer.epoch)
    return held and shown.state in ("Empty", *COMPLETE)


def described_as_answered(shown: DescribedTransaction, producer: StageProducer) -> PremiseClaim:
    """Return the premise that the coordinator's description matches its last answer to the producer, without an open
    transaction."""
    return premise_of_description(
        is_idle_at(shown, producer), f"no open transaction at epoch {producer.epoch}", producer
    )


@probe("KIP360-INIT-01", rig=STAGE, others=integers(1, 3), timeout_ms=integers(1_000, 60_000), version=integers(0, 5))
def new_id_starts_at_epoch_zero(stage: Stage, others: int, timeout_ms: int, version: int) -> Claims:
    """A new transactional id gets a producer id of its own at epoch 0, and is described as Empty."""
    taken = {stage.transactional().producer_id for _ in range(others)}
    fresh = StageProducer(stage, LEGACY, stage.bench.fresh_name("tid"), timeout_ms)
    unknown = stage.broker.describe_transaction(fresh.transactional_id)
    is_unused = unknown.error is Error.TRANSACTIONAL_ID_NOT_FOUND
    yield premise(is_unused, "the transactional id is unused", promised=("KIP360-TXN-06", "unknown-id"))
    answer = fresh.init(version=stage.at_most("InitProducerId", version))
    is_new = answer.error is Error.NONE and answer.producer_id >= 0 and answer.producer_id not in taken
    shown = fresh.describe()
    yield held_if(is_new and answer.producer_epoch == 0 and shown.state == "Empty", answer, shown, case="first-call")


@probe("KIP360-INIT-02", rig=STAGE, bumps=EPOCH_BUMPS, calls=integers(1, 4), committed=booleans())
def new_instances_bump_one_by_one(stage: Stage, case: str, bumps: int, calls: int, committed: bool) -> Claims:
    """Each call without producer id and epoch keeps the producer id and raises the epoch by one."""
    producer = stage.idle_transactional(case, bumps, committed)
    before = producer.describe()
    yield described_as_answered(before, producer)
    answers = [producer.init() for _ in range(calls)]
    expected = range(producer.epoch + 1, producer.epoch + 1 + calls)
    raised = [gives_id(answer, producer.producer_id, epoch) for answer, epoch in zip(answers, expected, strict=True)]
    yield held_if(all(raised), before, *answers)


@probe("KIP360-INIT-03", rig=STAGE, bumps=integers(0, 6), committed=booleans(), version=integers(3, 5))
def matching_id_and_epoch_bump_by_one(stage: Stage, case: str, bumps: int, committed: bool, version: int) -> Claims:
    """A call with the coordinator's producer id and epoch gets the same id and the next epoch."""
    producer = stage.idle_transactional(case, bumps, committed)
    before = producer.describe()
    yield described_as_answered(before, producer)
    version = stage.at_most("InitProducerId", version)
    answer = producer.init(producer.producer_id, producer.epoch, version=version)
    yield held_if(gives_id(answer, producer.producer_id, producer.epoch + 1), before, answer)


@probe("KIP360-INIT-04", rig=STAGE, bumps=EPOCH_BUMPS, repeats=integers(1, 5), version=integers(3, 5))
def repeated_bump_gets_the_same_answer(stage: Stage, case: str, bumps: int, repeats: int, version: int) -> Claims:
    """A repeated bump, as after a lost answer, gets the epoch that was assigned first."""
    producer = stage.idle_transactional(case, bumps)
    version = stage.at_most("InitProducerId", version)
    lost = producer.init(producer.producer_id, producer.epoch, version=version)
    yield premise_of_bump(lost, producer)
    answers = [producer.init(producer.producer_id, producer.epoch, version=version) for _ in range(repeats)]
    shown = producer.describe()
    same = all(gives_id(answer, producer.producer_id, producer.epoch + 1) for answer in answers)
    yield held_if(same and shown.producer_epoch == producer.epoch + 1, lost, *answers, shown)


@probe("KIP360-INIT-07", rig=STAGE, bumps=integers(0, 6), version=integers(0, 2))
def versions_without_id_and_epoch_bump(stage: Stage, case: str, bumps: int, version: int) -> Claims:
    """A version without producer id and epoch, or a call that leaves them out, bumps like a new instance."""
    producer = stage.idle_transactional("untouched", bumps)
    before = producer.describe()
    yield described_as_answered(before, producer)
    spoken = version if case == "v0-v2" else stage.at_most("InitProducerId", 3 + version)
    answer = producer.init(version=spoken)
    yield held_if(gives_id(answer, producer.producer_id, producer.epoch + 1), before, answer)


@probe("KIP360-INIT-18", rig=STAGE, epoch=integers(0, LAST_EPOCH), calls=integers(1, 3), version=integers(3, 5))
def idempotent_producers_always_get_a_new_id(stage: Stage, epoch: int, calls: int, version: int) -> Claims:
    """An idempotent producer gets a new id at epoch 0 from every call, whatever producer id and epoch it sends."""
    producer = stage.idempotent(epoch)
    version = stage.at_most("InitProducerId", version)
    answers = [
        stage.answer_when_ready(
            lambda: stage.broker.init_producer_id(
                None, producer_id=producer.producer_id, producer_epoch=producer.epoch, version=version
            )
        )
        for _ in range(calls)
    ]
    at_zero = all(answer.error is Error.NONE and answer.producer_epoch == 0 for answer in answers)
    ids = {producer.producer_id, *(answer.producer_id for answer in answers)}
    yield held_if(at_zero and len(ids) == calls + 1 and min(ids) >= 0, *answers, case="pair-sent")
