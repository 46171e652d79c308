"""The end of a producer id's epochs (KIP-360, Safe Epoch Incrementing)."""

from functools import partial

from hypothesis.strategies import booleans, integers, sampled_from

from conformance.core.checks import Claims, PremiseClaim, held_if, premise, probe
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.producers.combined_node import LAST_EPOCH, STAGE, Stage, StageProducer
from conformance.rigs.producers.producer import CheckProducer
from conformance.rigs.producers.sequences import ends_at, gives_id, is_appended, is_fenced
from conformance.rigs.producers.three_brokers import THREE_BROKERS, How, ThreeBrokers, log_end
from fixtures.wire import NodeClient
from fixtures.wire.retriable import NOT_COORDINATED_YET, ask_again

IDS = 5
"""The number of ids exhausted in parallel, which takes no longer than one."""
FEW_IDS = 2
"""The number of ids if a restarted coordinator has to read all their bumps."""
TIMES_OUT_MS = 1_000
EXHAUSTION_TIMEOUT = 240.0
"""Seconds in which an id's epochs must be exhausted; 10 to 60 are usual."""


def exhaust(producer: CheckProducer, node: NodeClient) -> None:
    """Bump to the last epoch that a client may hold, on a separate connection.

    A broker starved of CPU is fenced, and temporarily no coordinator: the remaining bumps are requested again.
    """

    def bump_on() -> bool:
        times = LAST_EPOCH - producer.epoch
        answer = node.bump_epochs(
            producer.transactional_id,
            producer.producer_id,
            producer.epoch,
            times,
            transaction_timeout_ms=producer.timeout_ms,
        )
        interrupted = ask_again(answer, NOT_COORDINATED_YET)
        epoch = producer.describe().producer_epoch if interrupted else answer.producer_epoch
        producer.continue_at(producer.producer_id, epoch)
        return not interrupted or epoch == LAST_EPOCH

    producer.bench.eventually(bump_on, f"{producer.transactional_id} at its last epoch", within=EXHAUSTION_TIMEOUT)


def exhausted_producers(
    stage: Stage, count: int, dialect: str = "legacy", timeout_ms: int = 60_000
) -> list[StageProducer]:
    """Create producers, and bring all of them to their last epoch in parallel."""
    producers = [stage.transactional(dialect, timeout_ms) for _ in range(count)]
    nodes = [stage.bench.node(stage.broker.node, purpose=producer.transactional_id) for producer in producers]
    stage.bench.run_in_parallel([partial(exhaust, *each) for each in zip(producers, nodes, strict=True)])
    return producers


def at_last_epoch(producer: CheckProducer) -> PremiseClaim:
    shown = producer.describe()
    reached = (shown.producer_id, shown.producer_epoch) == (producer.producer_id, LAST_EPOCH)
    return premise(reached, f"at the last epoch: {shown}", promised=("KIP360-INIT-03", "untouched"))


@probe("KIP360-INIT-15", "KIP360-INIT-16", rig=STAGE, smoke=False, examples=1, back=integers(1, 30_000))
def last_epoch_is_followed_by_a_new_producer_id(stage: Stage, back: int) -> Claims:
    """The bump at 32766 gives a new producer id at epoch 0, and its retry the same; other epochs of the old id are fenced."""
    for producer in exhausted_producers(stage, IDS):
        yield at_last_epoch(producer)
        shown, old, last = producer.describe(), producer.producer_id, LAST_EPOCH
        rotated = producer.init(old, last)
        new = rotated.producer_id != old and gives_id(rotated, rotated.producer_id, 0)
        yield held_if(new, shown, rotated, row="KIP360-INIT-15", case="last-epoch")
        again, other = producer.init(old, last), producer.init(old, last - back)
        same = gives_id(again, rotated.producer_id, 0)
        yield held_if(same, rotated, again, row="KIP360-INIT-16", case="same-pair")
        yield held_if(is_fenced(other), rotated, other, row="KIP360-INIT-16", case="other-epoch")
        onwards, late = producer.init(rotated.producer_id, 0), producer.init(old, last)
        moved_on = gives_id(onwards, rotated.producer_id, 1) and is_fenced(late)
        yield held_if(moved_on, onwards, late, row="KIP360-INIT-16", case="after-next-bump")


@probe("KIP360-INIT-17", rig=STAGE, cases=["init"], smoke=False, examples=2, clean=booleans())
def rotation_outlives_its_coordinator(stage: Stage, clean: bool) -> Claims:
    """The coordinator rotates producer ids and is restarted: the same requests give the new pairs, whose holders go on."""
    producers, rotated = exhausted_producers(stage, FEW_IDS), []
    for producer in producers:
        yield at_last_epoch(producer)
        given = producer.init(producer.producer_id, LAST_EPOCH)
        yield premise(
            gives_id(given, given.producer_id, 0), f"rotated: {given}", promised=("KIP360-INIT-15", "last-epoch")
        )
        rotated.append(given)
    stage.restart(clean=clean)
    for producer, given in zip(producers, rotated, strict=True):
        again, onwards = producer.init(producer.producer_id, LAST_EPOCH), producer.init(given.producer_id, 0)
        kept = gives_id(again, given.producer_id, 0) and gives_id(onwards, given.producer_id, 1)
        yield held_if(kept, given, again, onwards)


@probe("KIP360-INIT-17", rig=STAGE, cases=["time-out"], smoke=False, examples=2, count=integers(1, 3))
def time_out_at_the_last_epoch_rotates(stage: Stage, count: int) -> Claims:
    """A transaction that times out at the last epoch leaves no producer beyond it: the next instance gets a new producer id."""
    log = stage.log()
    for producer in exhausted_producers(stage, FEW_IDS, "tv2", TIMES_OUT_MS):
        yield at_last_epoch(producer)
        old = producer.producer_id
        producer.enter(log, count)
        ended = producer.await_completion()
        successor = producer.init()
        rotated = ended.producer_epoch <= LAST_EPOCH and successor.producer_id != old and successor.producer_epoch >= 0
        yield held_if(rotated, ended, successor)


@log_scenario(
    "KIP360-SC-10",
    "KIP360-INIT-17",
    rig=THREE_BROKERS,
    cases=["end-txn"],
    how=sampled_from(["kill", "stop", "freeze"]),
    committed=booleans(),
)
def end_at_the_last_epoch_outlives_its_coordinator(brokers: ThreeBrokers, how: How, committed: bool) -> Claims:
    """EndTxn at the last epoch rotates the producer id; the next coordinator loads the decision before its markers are written.

    It gives the same new producer id to the request sent again, and the producer that was answered goes on with it.
    """
    producer = brokers.transactional("tv2")
    exhaust(producer, brokers.bench.node(brokers.coordinator_of(producer)))
    yield at_last_epoch(producer)
    heir, leader = brokers.successor_and_outsider(producer)
    partition = brokers.partition(leader, heir, brokers.coordinator_of(producer))
    producer.enter(partition)
    with brokers.lose_coordinator_of_prepared(producer, leader, how, committed=committed) as (given, prepared):
        rotated = given.producer_id != producer.producer_id and ends_at(given, given.producer_id, 0)
        yield premise(rotated, f"rotated: {given}", promised=("KIP360-INIT-15", "last-epoch"))
        yield premise(prepared.state.startswith("Prepare"), f"markers are outstanding: {prepared}")
        at_once = producer.finish(committed)
        ended = producer.await_completion()
        for again in (at_once, producer.finish(committed)):
            yield held_if(
                ends_at(again, given.producer_id, 0), given, ended, again, label="the retry gets another answer"
            )
    partition.wait_until_whole()
    producer.continue_at(given.producer_id, given.producer_epoch)
    end = log_end(partition, partition.leader())
    written = producer.send(partition, producer.batch(partition))
    goes_on = ended.producer_epoch <= LAST_EPOCH and is_appended(written, end)
    yield held_if(goes_on, given, ended, written, label="the new producer id is unknown")
    if goes_on:
        producer.end(committed)
    at_rest(partition)
