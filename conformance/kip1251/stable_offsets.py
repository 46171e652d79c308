"""Pending offsets of an open transaction hold back readers (KIP-447)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.groups.transactions import TxnGroup, fresh_txn_group
from conformance.rigs.producers.combined_node import STAGE, Stage
from fixtures.views.nodes import ask_until_granted, is_not_ready
from protocol.codes import Error
from protocol.groups import NewOffset
from strategies.inputs import OFFSETS


@probe(
    "KIP1251-TXN-04",
    rig=STAGE,
    cases=["legacy", "tv2", "aborted"],
    examples=2,
    before=OFFSETS,
    step=integers(-5, 5).filter(bool),
)
def open_transaction_holds_back_readers(stage: Stage, case: str, before: int, step: int) -> Claims:
    """A reader with require_stable has to wait while a transaction is open, and gets the offset after its end."""
    log, group = stage.log(), stage.bench.fresh_name("group")
    offset = before + abs(step) if before + step < 0 else before + step
    ask_until_granted(
        stage.bench,
        lambda: stage.broker.offset_commit(group, [NewOffset(log.topic, 0, before)]),
        f"a commit of {group} accepted",
        is_not_ready,
    )
    producer = stage.transactional(stage.newest_dialect if case == "aborted" else case)
    if not producer.dialect.bumps:
        producer.require(producer.add_offsets(group), "producer")
    producer.require(producer.commit_offset(group, log, offset), "producer")
    wanted = [(log.topic, 0)]
    waiting = stage.broker.offset_fetch(group, wanted, require_stable=True)
    open_ = producer.describe()
    yield premise(open_.state == "Ongoing", f"still open: {open_}", promised=("KIP360-TXN-06", producer.dialect.name))
    waits = waiting.only_partition.error is Error.UNSTABLE_OFFSET_COMMIT
    yield held_if(waits, waiting, open_)
    producer.end(committed=case != "aborted")
    decided = before if case == "aborted" else offset

    def stable() -> bool:
        return stage.broker.offset_fetch(group, wanted, require_stable=True).shows(decided)

    met = stage.bench.wait.becomes_true(stable, f"offset {decided} of {group}", 10.0)
    after = stage.broker.offset_fetch(group, wanted, require_stable=True)
    yield held_if(met, waiting, after, detail=f"before {before}, in the transaction {offset}; {waiting}, then {after}")


@probe(
    "KIP1251-TXN-04",
    rig=fresh_txn_group(),
    cases=["next-owner", "next-owner-aborted"],
    examples=2,
    bumps=integers(0, 2),
    pick=integers(0, 1),
    before=OFFSETS,
    step=integers(-5, 5).filter(bool),
)
def next_owner_waits_for_the_decision(
    group: TxnGroup, case: str, bumps: int, pick: int, before: int, step: int
) -> Claims:
    """If the owner loses the partition before its transaction ends, the next owner has to wait, too, and gets the
    offset after the end."""
    yield from next_owner_waits(group, case, bumps, pick, before, step)


@probe(
    "KIP1251-TXN-04",
    rig=fresh_txn_group(),
    cases=["next-owner", "next-owner-aborted"],
    examples=1,
    smoke=False,
    bumps=integers(0, 2),
    pick=integers(0, 1),
    before=OFFSETS,
    step=integers(-5, 5).filter(bool),
)
def next_owner_waits_at_the_next_coordinator(
    group: TxnGroup, case: str, bumps: int, pick: int, before: int, step: int
) -> Claims:
    """The next owner has to wait also at a coordinator that has loaded the offsets of the open transaction."""
    yield from next_owner_waits(group, case, bumps, pick, before, step, loads=True)


def next_owner_waits(
    group: TxnGroup, case: str, bumps: int, pick: int, before: int, step: int, *, loads: bool = False
) -> Claims:
    """Let a partition with an offset in an open transaction be given to another member, which reads it before the end and
    afterwards. If it `loads`, the coordinator is restarted before."""
    old = group.sole_member(bumps)
    offset = before + abs(step) if before + step < 0 else before + step
    for partition in range(group.partitions):
        group.store(old, partition, before)
    producer = group.producer(group.dialect(pick))
    group.commit_in(producer, old, dict.fromkeys(range(group.partitions), offset), first=False)
    new = group.member()
    new.join()
    partition = min(group.heartbeat_until_revoking(old))
    group.acknowledge(old)
    group.await_assignment(new, partition)
    yield group.premise_of_holding(new, new.epoch, partition)
    if loads:
        group.restart_coordinator()
        group.await_transaction_coordinator()
    waiting = group.read_by(new, partition)
    open_ = producer.describe()
    yield premise(open_.state == "Ongoing", f"still open: {open_}", promised=("KIP360-TXN-06", producer.dialect.name))
    yield held_if(waiting.only_partition.error is Error.UNSTABLE_OFFSET_COMMIT, waiting, open_)
    producer.end(committed=case == "next-owner")
    decided = offset if case == "next-owner" else before
    met = group.bench.wait.becomes_true(
        lambda: group.read_by(new, partition).shows(decided), f"offset {decided} of {group.name}", 10.0
    )
    after = group.read_by(new, partition)
    yield held_if(met, waiting, after, detail=f"before {before}, in the transaction {offset}; {waiting}, then {after}")
