"""Fields of one answer agree (GEN-06): about a partition, its offsets, a group, a transaction, the quorum."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judging.excuses import RISEN
from conformance.judging.facts.groups import GroupDescription
from conformance.judging.facts.log import DescribedPartition, FetchResult
from conformance.judging.facts.quorum import DescribedQuorum, ReplicaState
from conformance.judging.facts.transactions import TransactionDescription
from conformance.judging.judge import Claim, Excuse, Finding, log_judge, story_judge
from conformance.judging.laws.descriptions import Description, DescriptionStory
from conformance.judging.log.story import PartitionStory

Replicas = tuple[int, ...]

# --- partitions


@log_judge("GEN-06", "first_metadata")
def states_of_a_partition_agree(story: PartitionStory) -> Iterator[Finding]:
    """The leader is a replica and in the ISR, and all members of the ISR are replicas."""
    # A first state that agrees is worth an observation only once there is another.
    last = story.first_metadata[0].epoch if story.first_metadata else -1
    for seen in story.first_metadata:
        wrong = _contradiction(seen.state.leader, seen.state.isr, seen.state.replicas)
        if not wrong and seen.epoch == last:
            continue
        last = seen.epoch
        yield Finding(not wrong, "partition", (seen.event,), f"{seen.node}: {wrong}" if wrong else "", "contradiction")


def _contradiction(leader: int, isr: Replicas, replicas: Replicas, eligible: Replicas = ()) -> str:
    if leader >= 0 and leader not in replicas:
        return f"leader {leader} is none of the replicas {replicas}"
    if leader >= 0 and leader not in isr:
        return f"leader {leader} is not in the ISR {isr}"
    if {*isr} & {*eligible}:
        return f"the ISR {isr} and the eligible leader replicas {eligible} have replicas in common"
    return "" if {*isr, *eligible} <= {*replicas} else f"ISR {isr} and eligible {eligible} of the replicas {replicas}"


@log_judge("GEN-06", "reads")
def offsets_of_a_fetch_agree(story: PartitionStory) -> Iterator[Claim]:
    """Log start <= last stable offset <= high watermark <= log end."""
    known: set[tuple[int, int, int, int]] = set()
    for place, read in enumerate(story.reads):
        if (offsets := _offsets(read)) in known:
            continue
        shown = [offset for offset in offsets if offset >= 0]
        if shown == sorted(shown):
            known.add(offsets)
            yield Finding(True, "offsets", (read.event,))
        else:
            wrong = f"{read.node}: log start, LSO, HW, log end in disorder: {shown}"
            yield from _disordered(story.reads, place, wrong)


def _offsets(read: FetchResult) -> tuple[int, int, int, int]:
    """In the order that they have to keep; -1 for those that the answer lacks."""
    end = read.log_end if read.full else -1
    return read.log_start, read.last_stable_offset, read.high_watermark, end


def _disordered(reads: list[FetchResult], place: int, wrong: str) -> Iterator[Claim]:
    """A violation if a later request to the same process is still answered with that high watermark."""
    read = reads[place]
    own = (o for o in reads[place + 1 :] if (o.node, o.incarnation) == (read.node, read.incarnation))
    after = next((o for o in own if o.asked > read.event), None)
    if after is not None and after.high_watermark == read.high_watermark:
        yield Finding(False, "offsets", (read.event, after.event), wrong, "contradiction")
    else:
        yield Excuse(RISEN, "offsets")


# --- descriptions


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
            return _contradiction(one.leader, one.isr, one.replicas, one.eligible)
        case DescribedQuorum():
            return _of_quorum(one)


def _of_group(group: GroupDescription) -> str:
    """As KIP-848 defines the states; the assignment epoch follows the group epoch, and members follow the assignment."""
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
