"""Commits before KIP-1251: only the member epoch is accepted (KIP-848)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, kept_if, probe
from conformance.rigs.groups.group import Group, fresh_group
from conformance.rigs.groups.transactions import TxnGroup, all_answered, fresh_txn_group, refused_epoch_error
from protocol.codes import Error


@probe(
    "KIP1251-GATE-02",
    "KIP1251-GATE-02-L",
    rig=fresh_group(),
    cases=["older-owned", "newer"],
    bumps=integers(1, 4),
    ahead=integers(1, 100),
)
def any_other_epoch(group: Group, case: str, bumps: int, ahead: int) -> Claims:
    """Any epoch but the member's own is refused, even for a partition that it has owned since then."""
    member = group.sole_member()
    older = member.epoch
    member.bump(bumps)
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    answer = group.commit(member, {0: 11}, older if case == "older-owned" else member.epoch + ahead)
    after = group.committed_offset(0)
    yield held_if(answer.all_answered(Error.STALE_MEMBER_EPOCH) and after.shows(10), answer, after)
    if case == "older-owned":
        yield kept_if("KIP1251-GATE-02-L", answer.all_answered(Error.NONE) and after.shows(11), answer, after)


@probe(
    "KIP1251-GATE-02",
    "KIP1251-GATE-02-L",
    rig=fresh_txn_group(),
    cases=["transactional"],
    bumps=integers(1, 4),
    pick=integers(0, 1),
)
def older_epoch_in_a_transaction(group: TxnGroup, case: str, bumps: int, pick: int) -> Claims:
    """An older epoch is also refused in a transaction, which has to be aborted."""
    member = group.sole_member()
    older = member.epoch
    member.bump(bumps)
    group.store(member, 0, 10)
    yield group.premise_of_holding(member, member.epoch, 0)
    producer = group.producer(group.dialect(pick))
    answer = group.txn_commit(producer, member, {0: 11}, older)
    producer.end(committed=True)
    after = group.stable_offset(0)
    yield held_if(all_answered(answer, refused_epoch_error(answer)) and after.shows(10), answer, after)
    yield kept_if("KIP1251-GATE-02-L", all_answered(answer, Error.NONE) and after.shows(11), answer, after)
