"""Fields of one description agree (GEN-06): of a partition, a group, a transaction, the quorum."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judging.facts.groups import GroupDescription
from conformance.judging.facts.log import DescribedPartition
from conformance.judging.facts.quorum import DescribedQuorum, ReplicaState
from conformance.judging.facts.transactions import TransactionDescription
from conformance.judging.judge import Finding, story_judge
from conformance.judging.laws.descriptions import Description, DescriptionStory
from conformance.judging.log.fields import contradiction


@story_judge("GEN-06", DescriptionStory, "described")
def descriptions_agree(story: DescriptionStory) -> Iterator[Finding]:
    """A group's state fits its members and epochs, a transaction's state its partitions; the quorum's leader is a voter."""
    known: set[tuple[object, ...]] = set()
    for one in story.described:
        case, shown = _described(one)
        if shown not in known:
            known.add(shown)
            wrong = _misdescribed(one)
            yield Finding(not wrong, case, (one.event,), f"{one.node}: {wrong}" if wrong else "", "contradiction")


def _described(one: Description) -> tuple[str, tuple[object, ...]]:
    """The case, and the fields that are compared."""
    match one:
        case GroupDescription():
            return "group", (one.state, one.epoch, one.assignment_epoch, one.member_epochs)
        case TransactionDescription():
            return "transaction", (one.state, one.partitions)
        case DescribedPartition():
            return "partition", (one.leader, one.isr, one.replicas, one.eligible)
        case DescribedQuorum():
            return "quorum", (one.leader, _names(one.voters), _names(one.observers))


def _names(replicas: tuple[ReplicaState, ...]) -> frozenset[tuple[int, str]]:
    return frozenset([(one.id, one.directory) for one in replicas])


def _misdescribed(one: Description) -> str:
    match one:
        case GroupDescription():
            return _of_group(one)
        case TransactionDescription():
            ongoing = one.state == "Ongoing" and not one.partitions
            return f"{one.transactional_id} is Ongoing without partitions" if ongoing else ""
        case DescribedPartition():
            return contradiction(one.leader, one.isr, one.replicas, one.eligible)
        case DescribedQuorum():
            return _of_quorum(one)


def _of_group(group: GroupDescription) -> str:
    """The contradiction in a group's description by the states of KIP-848; empty for none.

    The assignment epoch follows the group epoch, and members follow the assignment.
    """
    state, members = group.state, group.member_epochs
    shown = f"{state} with members at {members}, group epoch {group.epoch}, assignment epoch {group.assignment_epoch}"
    fits = {
        "Empty": not members,
        "Assigning": bool(members) and group.assignment_epoch < group.epoch,
        "Reconciling": bool(members) and group.assignment_epoch == group.epoch,
        "Stable": bool(members) and group.assignment_epoch == group.epoch and {*members} == {group.epoch},
    }
    return "" if fits.get(state, True) and max(members, default=0) <= group.epoch else shown


def _of_quorum(quorum: DescribedQuorum) -> str:
    voters, observers = _names(quorum.voters), _names(quorum.observers)
    if quorum.leader >= 0 and voters and quorum.leader not in {id for id, _ in voters}:
        return f"leader {quorum.leader} is none of the voters {sorted(id for id, _ in voters)}"
    return f"voters that are observers: {sorted(voters & observers)}" if voters & observers else ""
