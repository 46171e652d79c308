"""InitProducerId of a producer that was replaced (KIP-360, Safe Epoch Incrementing, rule 2.3)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.rigs.producers.combined_node import LAST_EPOCH, STAGE, Stage, StageProducer, is_unchanged
from conformance.rigs.producers.sequences import (
    gives_id,
    is_fenced,
    premise_of_description,
    premise_of_open_transaction,
)
from protocol.codes import Error
from protocol.records import ControlType
from strategies.inputs import EPOCH_BUMPS, EPOCHS_AHEAD, FEW_RECORDS

RESTED = sampled_from(["untouched", "legacy", "newest"])
"""The protocol of a producer's last transaction; `untouched` if it never began one."""


def at_rest(stage: Stage, rested: str, bumps: int) -> StageProducer:
    return stage.idle_transactional(stage.newest_dialect if rested == "newest" else rested, bumps)


@probe(
    "KIP360-INIT-05",
    rig=STAGE,
    rested=RESTED,
    bumps=integers(2, 5),
    back=integers(2, 5),
    ahead=EPOCHS_AHEAD,
    version=integers(4, 5),
)
def wrong_id_or_epoch_is_fenced(
    stage: Stage, case: str, rested: str, bumps: int, back: int, ahead: int, version: int
) -> Claims:
    """A producer id and epoch that are neither the current nor the last ones are refused, and nothing changes."""
    producer = at_rest(stage, rested, bumps)
    pairs = {
        "older-epoch": (producer.producer_id, producer.epoch - min(back, producer.epoch)),
        "newer-epoch": (producer.producer_id, producer.epoch + ahead),
        "foreign-id": (stage.transactional().producer_id, producer.epoch),
    }
    before = producer.describe()
    as_answered = before.producer_epoch == producer.epoch
    yield premise_of_description(as_answered, f"the coordinator holds epoch {producer.epoch}", producer)
    spoken = 3 if case.startswith("v3-") else stage.at_most("InitProducerId", version)
    answer = producer.init(*pairs[case.removeprefix("v3-")], version=spoken)
    after = producer.describe()
    yield held_if(is_fenced(answer) and is_unchanged(before, after), before, answer, after)


@probe("KIP360-INIT-06", rig=STAGE, epoch=integers(0, LAST_EPOCH), bumps=integers(0, 2), version=integers(3, 5))
def id_without_epoch_is_invalid(stage: Stage, case: str, epoch: int, bumps: int, version: int) -> Claims:
    """A producer id without an epoch, or the reverse, is an invalid request."""
    producer = stage.idle_transactional("untouched", bumps)
    half = (producer.producer_id, -1) if case == "id-only" else (-1, epoch)
    answer = producer.init(*half, version=stage.at_most("InitProducerId", version))
    yield held_if(answer.error is Error.INVALID_REQUEST, answer)


@probe("KIP360-INIT-08", rig=STAGE, rested=RESTED, bumps=integers(1, 6), version=integers(3, 5))
def new_instance_ends_retries(stage: Stage, case: str, rested: str, bumps: int, version: int) -> Claims:
    """After a new instance neither the last nor the current epoch of the old one can bump, and nothing changes."""
    old = at_rest(stage, rested, bumps)
    new = old.init()
    fences = gives_id(new, old.producer_id, old.epoch + 1)
    yield premise(fences, f"a new instance at epoch {old.epoch + 1}", promised=("KIP360-INIT-02", "untouched"))
    epoch, before = old.epoch if case == "previous-epoch" else old.epoch - 1, old.describe()
    answer = old.init(old.producer_id, epoch, version=stage.at_most("InitProducerId", version))
    after = old.describe()
    yield held_if(is_fenced(answer) and is_unchanged(before, after), new, before, answer, after)


@probe(
    "KIP360-INIT-10",
    rig=STAGE,
    bumps=integers(2, 5),
    back=integers(2, 5),
    ahead=EPOCHS_AHEAD,
    records=FEW_RECORDS,
    version=integers(3, 5),
)
def stale_epoch_leaves_an_open_transaction_alone(
    stage: Stage, case: str, bumps: int, back: int, ahead: int, records: int, version: int
) -> Claims:
    """A zombie's bump is fenced while the owner's transaction is open, and the owner can commit."""
    owner = stage.transactional("tv2" if case == "tv2" else "legacy")
    owner.bump(bumps)
    owner.enter(stage.log(), records)
    before = owner.describe()
    yield premise_of_open_transaction(before, owner)
    epoch = owner.epoch + ahead if case == "newer-epoch" else owner.epoch - min(back, owner.epoch)
    zombie = owner.init_once(owner.producer_id, epoch, version=stage.at_most("InitProducerId", version))
    after = owner.describe()
    commit = owner.finish(committed=True)
    kept = is_unchanged(before, after) and commit.error is Error.NONE
    yield held_if(is_fenced(zombie) and kept, before, zombie, after, commit, label="owner aborted by a stale epoch")


@probe("KIP360-INIT-11", "KIP360-INIT-11-L", rig=STAGE, bumps=EPOCH_BUMPS, records=FEW_RECORDS, version=integers(3, 5))
def owners_epoch_aborts_its_open_transaction(
    stage: Stage, case: str, expected: str, bumps: int, records: int, version: int
) -> Claims:
    """The current producer's bump first aborts its open transaction; the retry is fenced or bumped, by transaction version."""
    owner, log = stage.transactional(case), stage.log()
    owner.bump(bumps)
    owner.enter(log, records)
    before = owner.describe()
    yield premise_of_open_transaction(before, owner)
    version = stage.at_most("InitProducerId", version)
    first = owner.init_once(owner.producer_id, owner.epoch, version=version)
    retry = owner.init(owner.producer_id, owner.epoch, version=version)
    aborted = log.last_marker() is ControlType.ABORT and log.stable_end() == log.end()
    bumped = gives_id(retry, owner.producer_id, owner.epoch + 1)
    answered = is_fenced(retry) if expected == "FENCED" else bumped
    yield held_if(first.error is Error.CONCURRENT_TRANSACTIONS and aborted and answered, before, first, retry)
    yield kept_if("KIP360-INIT-11-L", bumped, first, retry)


@probe("KIP360-INIT-21", rig=STAGE, bumps=EPOCH_BUMPS, records=FEW_RECORDS, version=integers(3, 5))
def fence_of_a_new_instance_is_final(stage: Stage, case: str, bumps: int, records: int, version: int) -> Claims:
    """After a new instance has aborted the old one's transaction, the old one's epoch cannot bump."""
    old = stage.transactional(case)
    old.bump(bumps)
    old.enter(stage.log(), records)
    new = old.init_once()
    yield premise(new.error is Error.CONCURRENT_TRANSACTIONS, "the new instance was told to retry")
    aborted = old.await_completion()
    yield premise(
        aborted.state == "CompleteAbort", "the open transaction was aborted", promised=("KIP360-INV-06", case)
    )
    answer = old.init(old.producer_id, old.epoch, version=stage.at_most("InitProducerId", version))
    yield held_if(is_fenced(answer), new, aborted, answer, label="the old instance is back")
