"""Fields of one description agree (GEN-06): of a partition, a group, a transaction, the quorum."""

from collections.abc import Iterator
from uuid import UUID

from conformance.judging.facts.descriptions import Described
from conformance.judging.judge import Finding, story_judge
from conformance.judging.laws.descriptions import DescriptionStory
from conformance.judging.log.fields import contradiction
from protocol.cluster import PartitionMetadata
from protocol.groups import AssignedPartitions, DescribedGroup
from protocol.quorum import QuorumAnswer, QuorumReplica
from protocol.transactions import DescribedTransaction
from protocol.words import say


@story_judge("GEN-06", DescriptionStory, "described")
def descriptions_agree(story: DescriptionStory) -> Iterator[Finding]:
    """A group's state fits its members and epochs, a transaction's state its partitions; the quorum's leader is a voter."""
    known: set[tuple[object, ...]] = set()
    for one in story.described:
        case, shown = _compared_fields(one.said)
        if shown not in known:
            known.add(shown)
            wrong = _contradiction_in(one.said)
            yield Finding(
                not wrong, case, (one.event,), f"{one.node} described that {wrong}" if wrong else "", "contradiction"
            )


def _compared_fields(said: Described) -> tuple[str, tuple[object, ...]]:
    """Return the case, and the fields that are compared."""
    match said:
        case DescribedGroup():
            apart = [_listed(one.assignment) == _listed(one.target_assignment) for one in said.members]
            return "group", (said.group_state, said.group_epoch, said.assignment_epoch, _member_epochs(said), *apart)
        case DescribedTransaction():
            return "transaction", (said.state, said.partitions)
        case PartitionMetadata():
            return "partition", (said.leader, said.isr, said.replicas, said.eligible_leader_replicas or ())
        case QuorumAnswer():
            return "quorum", (said.leader_id, _names(said.current_voters), _names(said.observers))


def _member_epochs(group: DescribedGroup) -> tuple[int, ...]:
    return tuple([member.member_epoch for member in group.members])


def _names(replicas: tuple[QuorumReplica, ...]) -> frozenset[tuple[int, str]]:
    return frozenset([(one.replica_id, str(one.replica_directory_id or "")) for one in replicas])


def _contradiction_in(said: Described) -> str:
    match said:
        case DescribedGroup():
            return _of_group(said)
        case DescribedTransaction():
            ongoing = said.state == "Ongoing" and not said.partitions
            return f"{said.transactional_id} is Ongoing without partitions" if ongoing else ""
        case PartitionMetadata():
            return contradiction(said.leader, said.isr, said.replicas, said.eligible_leader_replicas or ())
        case QuorumAnswer():
            return _of_quorum(said)


def _of_group(group: DescribedGroup) -> str:
    """Return the contradiction in a group's description by the states of KIP-848, in capitals or not; empty for none.

    The assignment epoch follows the group epoch, and members follow the assignment: in a stable group each has its target.
    """
    state, members, epoch = group.group_state.capitalize(), _member_epochs(group), group.group_epoch
    shown = f"{state} with members at {say(members)}, group epoch {epoch}, assignment epoch {group.assignment_epoch}"
    apart = [one for one in group.members if _listed(one.assignment) != _listed(one.target_assignment)]
    fits = {
        "Empty": not members,
        "Dead": not members,
        "Assigning": bool(members) and group.assignment_epoch < epoch,
        "Reconciling": bool(members) and group.assignment_epoch == epoch,
        "Stable": bool(members) and group.assignment_epoch == epoch and {*members} == {epoch},
    }
    if state == "Stable" and fits[state] and apart:
        return f"{shown}, and {apart[0]}"
    return "" if fits.get(state, True) and max(members, default=0) <= epoch else shown


def _listed(assigned: AssignedPartitions) -> frozenset[tuple[UUID, int]]:
    return frozenset(
        [(topic.topic_id, partition) for topic in assigned.topic_partitions for partition in topic.partitions]
    )


def _of_quorum(quorum: QuorumAnswer) -> str:
    leader, voters, observers = quorum.leader_id, _names(quorum.current_voters), _names(quorum.observers)
    if leader >= 0 and voters and leader not in {id for id, _ in voters}:
        return f"leader {leader} is none of the voters {say(sorted(id for id, _ in voters))}"
    return f"voters that are observers: {say(sorted(voters & observers))}" if voters & observers else ""
