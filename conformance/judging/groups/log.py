"""The records of a group as a second witness: one owner by log (KIP1251-INV-08), epochs in order (AE-03), no refused commit
(INV-11), and nothing answered that was never logged (GEN-13)."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from conformance.judging.excuses import OFFSETS_LOST
from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.group_log import ASSIGNMENT, GROUP, MEMBER, OFFSET, TARGET, LoggedGroup, LoggedMember
from conformance.judging.facts.groups import OffsetCommitResult
from conformance.judging.facts.memberships import GroupDescription, Places, places
from conformance.judging.groups.evidence import LOG_COMPACTED
from conformance.judging.groups.story import GroupStory
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from conformance.judging.log.refused_commits import is_refused
from history.readings import GroupRecord
from protocol.groups import JOIN, LEAVE_TO_RETURN, DescribedMember
from protocol.words import say, say_error

NO_EPOCH = -1


class Identity(NamedTuple):
    """A member's instance id, empty if it is dynamic, and whether it speaks the classic protocol."""

    instance_id: str = ""
    is_classic: bool = False


class LoggedState(NamedTuple):
    """A group after one of its records: group epoch, target assignment epoch, and members by id."""

    record: GroupRecord
    epoch: int
    target: int
    members: dict[str, LoggedMember]
    identities: dict[str, Identity]

    def owner(self, member: str) -> str:
        """Return the instance id of a static member, else the member id."""
        return self.identities.get(member, Identity()).instance_id or member

    def is_classic(self, member: str) -> bool:
        return self.identities.get(member, Identity()).is_classic

    def others(self, member: str, *, is_led: bool) -> Iterator[tuple[str, LoggedMember]]:
        """Yield the other owners, without classic ones if the leader of classic members may have assigned this one."""
        for id, other in self.members.items():
            if self.owner(id) != self.owner(member) and not (is_led and self.is_classic(id)):
                yield id, other


def states_of(log: LoggedGroup) -> list[LoggedState]:
    """Return the group after each of its records but offsets."""
    epoch = target = NO_EPOCH
    members: dict[str, LoggedMember] = {}
    identities: dict[str, Identity] = {}
    found: list[LoggedState] = []
    for record in (one for one in log.records if one.kind != OFFSET):
        id, value = str(record.key.get("member_id", "")), record.value
        if record.kind == GROUP:
            epoch = NO_EPOCH if value is None else value["epoch"]
        elif record.kind == TARGET:
            target = NO_EPOCH if value is None else value["assignment_epoch"]
        elif record.kind == MEMBER and value is not None:
            is_classic = value.get("classic_member_metadata") is not None
            identities = {**identities, id: Identity(value.get("instance_id") or "", is_classic)}
        elif record.kind == ASSIGNMENT:
            members = {one: kept for one, kept in members.items() if one != id}
            if value is not None:
                members[id] = LoggedMember.from_record(record)
        found.append(LoggedState(record, epoch, target, members, identities))
    return found


def logged_states(story: GroupStory) -> list[tuple[LoggedGroup, list[LoggedState]]]:
    """Return the reads of the group's log, each with the states that it shows."""
    return [(log, states_of(log)) for log in story.logs]


def _excuse(story: GroupStory, log: LoggedGroup, case: str) -> Excuse | None:
    return Excuse(OFFSETS_LOST, case) if story.may_have_lost_records(log.event) else None


# --- owners and epochs


@story_judge("KIP1251-INV-08", GroupStory, "logs")
def at_most_one_owner_by_log(story: GroupStory) -> Iterator[Claim]:
    """No record gives a member a partition that another member's newest record has as assigned, or as to be given up.

    The first record of a classic member may have what its own leader gave it before the group was upgraded.
    """
    for log, states in story.derive(logged_states):
        excuse = _excuse(story, log, "log")
        if excuse is not None:
            yield excuse
            continue
        had: dict[tuple[str, int], tuple[str, bool]] = {}
        for before, state in zip([None, *states], states, strict=False):
            for place in _newly_given(before, state):
                id = state.record.key["member_id"]
                is_led = state.is_classic(id) and (before is None or id not in before.members)
                others = state.others(id, is_led=is_led)
                other = next((one for one, its in others if place in its.assigned | its.pending), None)
                wrong = f"record {state.record.offset} gives {id} partition {place[1]}, which {other} has not given up"
                former, is_classic = had.get(place, (state.owner(id), False))
                is_moved = former != state.owner(id) and not (is_classic and is_led)
                if other is not None or is_moved:
                    yield Finding(other is None, "log", (log.event,), wrong, "two-owners")
                had[place] = state.owner(id), state.is_classic(id)


def _newly_given(before: LoggedState | None, state: LoggedState) -> frozenset[tuple[str, int]]:
    """Return the partitions that a record gives to its member."""
    id = state.record.key.get("member_id", "")
    if state.record.kind != ASSIGNMENT or id not in state.members:
        return frozenset()
    former = before.members.get(id) if before is not None else None
    held = frozenset[tuple[str, int]]() if former is None else former.assigned | former.pending
    return state.members[id].assigned - held


@story_judge("KIP1251-AE-03", GroupStory, "logs")
def logged_epochs_are_in_order(story: GroupStory) -> Iterator[Claim]:
    """In each record of a member, assignment epochs <= member epoch <= target assignment epoch <= group epoch.

    A static member that left to return has assignment epochs 0. One that takes the place of another has its partitions at member
    epoch 0 until its next record, which the same request writes: nothing is assigned to others in between.
    """
    for log, states in story.derive(logged_states):
        assigning = [state for state in states if state.record.kind == ASSIGNMENT]
        for n, state in enumerate(assigning):
            id = state.record.key["member_id"]
            member = state.members.get(id)
            if member is None or (member.epoch == JOIN and _is_replaced(id, assigning[n + 1 :])):
                continue
            if NO_EPOCH not in (state.epoch, state.target):
                shown = (
                    f"record {state.record.offset} has {id} at epoch {member.epoch} with assignment "
                    f"epochs {say(member.epochs)}, target assignment epoch {state.target}, group epoch {state.epoch}"
                )
                yield Finding(_are_in_order(state, member), "record", (log.event,), shown, "epoch-order")


def _is_replaced(member: str, following: list[LoggedState]) -> bool:
    """True if a member's next assignment comes before one of another member. Where the request that wrote it makes the group
    classic, all assignments are deleted, in any order."""
    for record in (state.record for state in following):
        if record.key["member_id"] == member or record.value is not None:
            return bool(record.key["member_id"] == member)
    return False


def _are_in_order(state: LoggedState, member: LoggedMember) -> bool:
    if member.epoch == LEAVE_TO_RETURN:
        return not any(member.epochs)
    epochs = member.epochs or (0,)
    return min(epochs) >= 0 and max(epochs) <= member.epoch <= state.target <= state.epoch


# --- answers


@story_judge("GEN-13", GroupStory, "logs")
def answers_were_logged(story: GroupStory) -> Iterator[Claim]:
    """A description with members is a state of the group after one of its records; an epoch that a heartbeat answers is in a
    record of the member."""
    for log, states in story.derive(logged_states):
        excuse = _excuse(story, log, "group") or (None if log.is_whole else Excuse(LOG_COMPACTED, "group"))
        if excuse is not None:
            yield excuse
            continue
        shown: set[object] = set()
        known = {(id, member.epoch) for state in states for id, member in state.members.items()}
        for beat in (one for one in story.beats if one.given_epoch >= 0 and one.event < log.asked):
            if (what := (beat.member_id, beat.given_epoch, beat.node)) not in shown:
                shown.add(what)
                wrong = (
                    f"{beat.node} answered {beat.member_id} with epoch {beat.given_epoch}, which no record of it has"
                )
                yield Finding(what[:2] in known, "group", (beat.event, log.event), wrong, "other-than-logged")
        described = [one for one in story.described if one.said.error == NONE and one.said.members]
        for one in (one for one in described if one.event < log.asked):
            if (key := _key_of(one)) not in shown:
                shown.add(key)
                deleted = _deleted_topics(story, log, one.event)
                held = any(_is_described(state, one, deleted) for state in states)
                wrong = (
                    f"{one.node} described {story.name} as it is after no record: group epoch {one.said.group_epoch}, "
                    + (", ".join(str(member) for member in one.said.members))
                )
                yield Finding(held, "group", (one.event, log.event), wrong, "other-than-logged")


def _key_of(description: GroupDescription) -> object:
    members = [
        (member.member_id, member.member_epoch, _described_places(member)) for member in description.said.members
    ]
    return description.said.group_epoch, description.said.assignment_epoch, frozenset(members)


def _described_places(member: DescribedMember) -> frozenset[tuple[str, int]]:
    return places(member.assignment.topic_partitions)


def _deleted_topics(story: GroupStory, log: LoggedGroup, event: int) -> frozenset[str]:
    """Return the ids of the topics that may be deleted by an event. Those that were created again have other ids."""
    may_be_deleted = story.timeline.may_be_deleted
    return frozenset([id for id, (name, first) in log.topics.items() if may_be_deleted((id, name), event, first)])


def _is_described(state: LoggedState, description: GroupDescription, deleted: Collection[str]) -> bool:
    """True if the description fits the state. Releases differ in whether they list what is still to be given up.

    No partition of a topic that may be deleted counts: a coordinator leaves out those that its metadata lacks.
    """
    found = {member.member_id: member for member in description.said.members}
    if (state.epoch, state.target) != (
        description.said.group_epoch,
        description.said.assignment_epoch,
    ) or found.keys() != state.members.keys():
        return False
    return all(
        shown.member_epoch == state.members[id].epoch
        and _without(deleted, _described_places(shown)) in _ways_to_describe(state.members[id], deleted)
        for id, shown in found.items()
    )


def _ways_to_describe(member: LoggedMember, deleted: Collection[str]) -> tuple[Places, Places]:
    return _without(deleted, member.assigned), _without(deleted, member.assigned | member.pending)


def _without(topics: Collection[str], places: Places) -> Places:
    return frozenset([place for place in places if place[0] not in topics])


# --- offsets


@story_judge("KIP1251-INV-11", GroupStory, "logs")
def refused_commits_are_not_logged(story: GroupStory) -> Iterator[Claim]:
    """No record has an offset of a refused commit. Nothing is known where another commit may have written it, or where records
    are missing."""
    for log in story.logs:
        stored = {
            _stored_offset(record) for record in log.records if record.kind == OFFSET and record.value is not None
        }
        for one in story.commits:
            if one.member_id and is_refused(one) and one.event < log.asked:
                others = (other for other in story.commits if not is_refused(other) and other.asked < log.event)
                if any(_offset(other) == _offset(one) for other in others):
                    continue
                wrong = (
                    f"{one.node} refused offset {one.offset} of {one.topic}-{one.partition} by {one.member_id} with "
                    f"{say_error(one.accepted)}, and a record has it"
                )
                held = _offset(one) not in stored
                yield (
                    Excuse(LOG_COMPACTED, "refused")
                    if held and not log.is_whole
                    else Finding(held, "refused", (one.event, log.event), wrong, "refused-commit")
                )


def _offset(commit: OffsetCommitResult) -> tuple[str, int, int]:
    return commit.topic, commit.partition, commit.offset


def _stored_offset(record: GroupRecord) -> tuple[str, int, int]:
    assert record.value is not None
    return record.key["topic"], record.key["partition"], record.value["offset"]
