"""Producers and transactional ids that were idle past their expiration (KIP-360, Unknown Producer Fencing; KIP-854)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.core.topologies import EXPIRY_SECONDS
from conformance.core.waiting import Settled
from conformance.rigs.producers.combined_node import EXPIRING_STAGE, Log, Stage, StageProducer
from conformance.rigs.producers.sequences import gives_id, is_appended, is_fenced, premise_of_open_transaction
from protocol.codes import Error
from protocol.configs import ResourceType
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS, FEW_RECORDS

EXPIRY_TIMEOUT = 30.0
"""The time limit in seconds: many times the expiration and the interval between the broker's checks."""
AT_A_RESTART = "TRANSACTIONAL_ID_EXPIRATION"
"""The expectation on releases that look for idle producers only when they start."""


def create_recent_writer(stage: Stage, log: Log, records: int, batches: int = 1) -> StageProducer:
    """Create an idempotent producer whose last record is of this moment: its age counts from the record's timestamp."""
    stage.began = stage.bench.now().unix_ms
    producer = stage.idempotent()
    for _ in range(batches):
        producer.write(log, records)
    return producer


def idle_for(stage: Stage) -> float:
    """Return the seconds since `create_recent_writer` began, when all earlier requests had been answered."""
    return (stage.bench.now().unix_ms - stage.began) / 1000


def looks_at_a_restart(stage: Stage) -> bool:
    """True if the release has no setting for idle producers."""
    name = "producer.id.expiration.ms"
    found = stage.broker.describe_configs(ResourceType.BROKER, str(stage.bench.id_of(stage.broker.node)), [name])
    return found.value(name) is None


def is_forgotten(stage: Stage, log: Log, producer: StageProducer, *, at_a_restart: bool) -> Settled:
    """Wait until the producer has been idle for long enough; return whether the partition no longer lists it."""
    stage.bench.eventually(lambda: idle_for(stage) > EXPIRY_SECONDS, "the expiry of an idle producer", due=None)
    if at_a_restart:
        stage.restart(clean=True)
        log.await_leader()
    gone = f"{log.name} without producer {producer.producer_id}"
    return stage.bench.wait.becomes_true(lambda: log.producer(producer.producer_id) is None, gone, EXPIRY_TIMEOUT)


@probe(
    "KIP360-SEQ-17",
    "KIP360-SEQ-17-L",
    rig=EXPIRING_STAGE,
    cases=["expired"],
    smoke=False,
    records=FEW_RECORDS,
    batches=integers(1, 3),
)
def idle_producer_is_forgotten(stage: Stage, expected: str, records: int, batches: int) -> Claims:
    """A producer that was idle for longer is not listed any more, and its duplicate is appended as by an unknown one."""
    log = stage.log()
    producer = create_recent_writer(stage, log, records, batches)
    duplicate = producer.batch(log, records, sequence=0)
    gone = is_forgotten(stage, log, producer, at_a_restart=expected == AT_A_RESTART)
    end = log.end()
    again = producer.send(log, duplicate)
    known = log.producer(producer.producer_id)
    unknown = is_appended(again, end) and log.end() == end + records
    yield held_if(
        gone.require_also(unknown),
        again,
        detail=f"the silent producer was forgotten in time: {gone}; the partition knows {say(known)}; the log ends at {end}",
    )
    yield kept_if("KIP360-SEQ-17-L", gone.require_also(expected != AT_A_RESTART), again, case="expired")


@probe(
    "KIP360-SEQ-01",
    rig=EXPIRING_STAGE,
    cases=["forgotten"],
    smoke=False,
    records=FEW_RECORDS,
    skipped=integers(0, 1_000),
)
def forgotten_producer_is_admitted(stage: Stage, records: int, skipped: int) -> Claims:
    """A producer that the partition knew and forgot may go on at any sequence."""
    log = stage.log()
    producer = create_recent_writer(stage, log, records)
    gone = is_forgotten(stage, log, producer, at_a_restart=looks_at_a_restart(stage))
    yield premise(gone, "the producer is forgotten", promised=("KIP360-SEQ-17", "expired"))
    end = log.end()
    answer = producer.send(log, producer.batch(log, records, sequence=records + skipped))
    yield held_if(is_appended(answer, end) and log.end() == end + records, answer)


@probe("KIP360-SEQ-17", rig=EXPIRING_STAGE, cases=["not-yet"], smoke=False, records=FEW_RECORDS, batches=integers(1, 3))
def producer_is_remembered_until_then(stage: Stage, records: int, batches: int) -> Claims:
    """Until the expiry a producer is listed, and its duplicate recognised, however often the partition is looked at."""
    log = stage.log()
    producer = create_recent_writer(stage, log, records, batches)
    duplicate = producer.batch(log, records, sequence=0)
    again, listed = producer.send(log, duplicate), log.producer(producer.producer_id) is not None
    at = idle_for(stage)
    yield premise(at < EXPIRY_SECONDS, f"asked after {at:.1f} s")

    def over() -> bool:
        nonlocal listed
        known = log.producer(producer.producer_id)
        early = idle_for(stage) < EXPIRY_SECONDS
        listed = listed and (known is not None or not early)
        return not early or not listed

    stage.bench.eventually(over, "the expiry of an idle producer", every=0.2, due=None)
    recognised = is_appended(again, 0) and log.end() == records * batches
    yield held_if(listed and recognised, again, detail=f"it was listed for {EXPIRY_SECONDS:g} s: {say(listed)}")


@probe("KIP360-SEQ-18", rig=EXPIRING_STAGE, smoke=False, bumps=EPOCH_BUMPS, records=FEW_RECORDS, plain=integers(0, 2))
def open_transaction_keeps_its_producer(stage: Stage, case: str, bumps: int, records: int, plain: int) -> Claims:
    """When an idle producer of the same partition has been forgotten, one with an open transaction is still listed."""
    log = stage.log()
    stage.began = stage.bench.now().unix_ms
    owner = stage.transactional(case)
    owner.bump(bumps)
    for _ in range(plain):
        stage.idempotent().write(log)
    first = owner.enter(log, records).base_offset
    idle = create_recent_writer(stage, log, records)
    yield premise(
        is_forgotten(stage, log, idle, at_a_restart=looks_at_a_restart(stage)), "the idle producer is forgotten"
    )
    yield premise_of_open_transaction(owner.describe(), owner)
    known, stable = log.producer(owner.producer_id), log.stable_end()
    kept = known is not None and known.current_txn_start_offset == first and stable <= first
    yield held_if(
        kept, detail=f"open from {first} with the last stable offset {stable}; the partition knows {say(known)}"
    )


@probe("KIP360-INIT-13", "KIP360-INIT-14", rig=EXPIRING_STAGE, smoke=False, bumps=EPOCH_BUMPS, records=integers(0, 2))
def forgotten_transactional_id(stage: Stage, bumps: int, records: int) -> Claims:
    """The old producer id and epoch of a forgotten transactional id get a new producer id; the retry gets the same one."""
    producer = stage.transactional()
    producer.bump(bumps)
    if records:
        producer.enter(stage.log(), records)
        producer.end(committed=True)

    def unknown() -> bool:
        return producer.describe().error is Error.TRANSACTIONAL_ID_NOT_FOUND

    gone = stage.bench.wait.becomes_true(unknown, f"{producer.transactional_id} forgotten", EXPIRY_TIMEOUT)
    yield premise(gone, "the transactional id is forgotten")
    answer = producer.init(producer.producer_id, producer.epoch)
    new = answer.producer_id != producer.producer_id and gives_id(answer, answer.producer_id, 0)
    yield held_if(new, answer, row="KIP360-INIT-13", case="expired-pair")
    again = producer.init(producer.producer_id, producer.epoch)
    same = gives_id(again, answer.producer_id, 0)
    yield held_if(
        same, answer, again, row="KIP360-INIT-14", case="expired-pair", variant="fenced" if is_fenced(again) else ""
    )
