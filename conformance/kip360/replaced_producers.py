"""Requests of a producer that was replaced (KIP-360, Motivation and Unknown Producer Fencing)."""

from collections.abc import Iterator

from hypothesis.strategies import booleans, integers

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.rigs.producers.combined_node import STAGE, Log, Stage, StageProducer, is_unchanged
from conformance.rigs.producers.sequences import premise_of_description
from fixtures.views.producer import LEGACY
from fixtures.wire.retriable import error_of
from protocol.codes import Error
from protocol.groups import OffsetFetchAnswer
from protocol.messages import Answer
from protocol.since import since
from protocol.words import say, say_change
from strategies.inputs import RECORDS

OFFSETS = "__consumer_offsets"
REQUESTS = {"add-partitions": "AddPartitionsToTxn", "add-offsets": "AddOffsetsToTxn", "end-txn": "EndTxn"}
CASES = REQUESTS | {"tv2": "EndTxn"}
OLD = "old-"
"""The prefix of cases with request versions that lack PRODUCER_FENCED."""


def replaced_instance(stage: Stage, dialect: str) -> tuple[StageProducer, StageProducer]:
    """Create an instance, and the new one that fences it."""
    zombie = stage.transactional(dialect)
    return zombie, zombie.successor()


def closed_and_open(stage: Stage, owner: StageProducer) -> Iterator[bool]:
    """Yield False, begin a transaction of the owner, then yield True."""
    yield False
    owner.enter(stage.log())
    yield True


def send(producer: StageProducer, request: str, log: Log, committed: bool, version: int) -> Answer:
    """Send one of the requests from a producer to its coordinator. EndTxn v5 must be requested by name."""
    version = producer.stage.at_most(request, version)
    if request == "AddPartitionsToTxn":
        return producer.add(log, version=version)
    if request == "AddOffsetsToTxn":
        return producer.add_offsets(producer.stage.bench.fresh_name("group"), version=version)
    return producer.finish(committed, version=version)


def version_of(case: str, request: str, version: int) -> int:
    """Return the API version for a case of FENCE-01, given a drawn one from 2 to 5."""
    if case.startswith(OLD):
        return version % 2
    return 5 if case == "tv2" else min(version, LEGACY.end_txn) if request == "EndTxn" else version


@probe(
    "KIP360-FENCE-01",
    rig=STAGE,
    cases=[*CASES, *(f"{OLD}{request}" for request in REQUESTS)],
    version=integers(2, 5),
    committed=booleans(),
)
def old_epoch_is_refused_by_the_coordinator(stage: Stage, case: str, version: int, committed: bool) -> Claims:
    """A request of a replaced instance is fenced and leaves the owner's transaction as it was; the owner can commit it."""
    zombie, owner = replaced_instance(stage, "tv2" if case == "tv2" else "legacy")
    log, request = stage.log(), CASES[case.removeprefix(OLD)]
    for is_open in closed_and_open(stage, owner):
        before = owner.describe()
        at_hand = (before.producer_epoch, before.state == "Ongoing") == (owner.epoch, is_open)
        what = f"the owner is at epoch {owner.epoch}, open: {say(is_open)}"
        yield premise_of_description(at_hand and zombie.epoch < owner.epoch, what, owner)
        answer = send(zombie, request, log, committed, version_of(case, request, version))
        after = owner.describe()
        fenced = answer.version >= since(request, "PRODUCER_FENCED")
        error = Error.PRODUCER_FENCED if fenced else Error.INVALID_PRODUCER_EPOCH
        yield held_if(error_of(answer) is error and is_unchanged(before, after), before, answer, after)
    ended = owner.finish(committed=True)
    yield held_if(ended.error is Error.NONE, answer, after, ended)


@probe(
    "KIP360-FENCE-01",
    rig=STAGE,
    cases=[f"{of}-{request}" for of in ("foreign", "unknown") for request in REQUESTS],
    version=integers(0, 5),
    committed=booleans(),
)
def foreign_ids_are_refused_by_the_coordinator(stage: Stage, case: str, version: int, committed: bool) -> Claims:
    """A producer id that does not belong to the transactional id, or an unknown transactional id, is refused as such."""
    _, owner = replaced_instance(stage, "legacy")
    foreigner, log = stage.transactional(), stage.log()
    of, _, request = case.partition("-")
    foreigner.transactional_id = stage.bench.fresh_name("tid") if of == "unknown" else owner.transactional_id
    foreigner.epoch = owner.epoch
    spoken = min(version, LEGACY.end_txn) if request == "end-txn" else version
    for is_open in closed_and_open(stage, owner):
        before = owner.describe()
        differ = before.producer_id not in (-1, foreigner.producer_id) and (before.state == "Ongoing") == is_open
        yield premise(differ, f"the ids differ, open: {say(is_open)}")
        answer = send(foreigner, REQUESTS[request], log, committed, spoken)
        after = owner.describe()
        unmapped = error_of(answer) is Error.INVALID_PRODUCER_ID_MAPPING
        yield held_if(unmapped and is_unchanged(before, after), before, answer, after)


@probe(
    "KIP360-FENCE-02",
    rig=STAGE,
    known=booleans(),
    is_open=booleans(),
    version=integers(3, 13),
    records=RECORDS,
)
def zombie_cannot_write_to_a_partition_without_the_epoch(
    stage: Stage, case: str, known: bool, is_open: bool, version: int, records: int
) -> Claims:
    """A transactional batch with an old epoch is refused by a partition that never saw the newer one."""
    log, zombie = stage.log(), stage.transactional(case)
    if known:
        zombie.enter(log)
        zombie.end(committed=True)
    owner = zombie.successor()
    if is_open:
        owner.enter(stage.log())
    before = log.producer_state(zombie.producer_id)
    yield premise(
        before.producer is None or before.producer.producer_epoch <= zombie.epoch < owner.epoch,
        f"the partition knows {say(before.producer)}, the coordinator epoch {owner.epoch}",
    )
    version = min(version, 11) if case == "legacy" else stage.at_most("Produce", max(version, 12))
    answer = zombie.send(log, zombie.batch(log, records), version=stage.at_most("Produce", version))
    after = log.producer_state(zombie.producer_id)
    nothing_left = after == before and after.stable_end == after.end
    fenced = answer.error is Error.INVALID_PRODUCER_EPOCH
    yield held_if(
        fenced and nothing_left,
        answer,
        detail=f"of the partition's state, {say_change(before, after)}",
        label="zombie write",
    )


def committed_offset(stage: Stage, group: str, log: Log) -> OffsetFetchAnswer:
    """Fetch the group's stable offset for the partition; an error while one is pending."""
    return stage.answer_when_ready(lambda: stage.broker.offset_fetch(group, [(log.topic, 0)], require_stable=True))


@probe(
    "KIP360-FENCE-03",
    "KIP360-FENCE-03-L",
    rig=STAGE,
    owned=integers(0, 100),
    offset=integers(101, 1000),
    version=integers(0, 4),
)
def fenced_offset_commit_leaves_nothing(stage: Stage, case: str, owned: int, offset: int, version: int) -> Claims:
    """TxnOffsetCommit of a replaced instance, or one not announced by AddOffsetsToTxn, is refused and leaves nothing pending."""
    log, group = stage.log(), stage.bench.fresh_name("group")
    zombie = stage.transactional("tv2" if case == "tv2" else "legacy")
    owner = zombie if case == "not-added" else zombie.successor()
    if case == "epoch-seen":
        owner.require(owner.add_offsets(group), "producer")
        owner.require(owner.commit_offset(group, log, owned), "producer")
        owner.end(committed=True)
    kept = owned if case == "epoch-seen" else -1
    known = stage.broker.describe_producers(OFFSETS, 0).producer(zombie.producer_id)
    yield premise((known is not None) == (case == "epoch-seen"), f"the offsets partition knows {say(known)}")
    before = committed_offset(stage, group, log)
    dialect = owner.dialect.name
    yield premise(before.shows(kept), f"offset {kept} is committed", promised=("KIP360-INV-06", dialect))
    version_of = {"not-added": 3, "tv2": 5}.get(case, stage.at_most("TxnOffsetCommit", version))
    answer = zombie.commit_offset(group, log, offset, version=version_of)
    after = committed_offset(stage, group, log)
    error = Error.INVALID_TXN_STATE if case == "not-added" else Error.INVALID_PRODUCER_EPOCH
    refused = answer.all_answered(error) and after.shows(kept)
    yield held_if(refused, before, answer, after)
    if case == "not-added":
        yield kept_if("KIP360-FENCE-03-L", refused, before, answer, after)
