"""Owners of partitions: at most one at any point (KIP1251-INV-08, UPG-04), each after the former one gave it up (BASE-02), at a
higher epoch (BASE-03)."""

from collections.abc import Iterator
from typing import NamedTuple

from conformance.judging.excuses import STALE_COORDINATOR, Evidence
from conformance.judging.groups.evidence import GROUP_MAY_BE_DELETED, MAY_BE_REMOVED
from conformance.judging.groups.members import Hold, holds_by_place, is_never_empty
from conformance.judging.groups.story import GroupStory
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from protocol.groups import JOIN

INTERVAL = "consumer.assignment.interval.ms"


class Handover(NamedTuple):
    """A partition that an answer shows to its next owner, with the ownership before."""

    former: Hold
    next: Hold

    @property
    def story(self) -> GroupStory:
        return self.next.member.story

    @property
    def is_late(self) -> bool:
        """True if the former owner had given the partition up, or had been removed, before the next one was shown it."""
        return self.former.ended_before(self.next.began.event) or self.was_removed

    @property
    def was_removed(self) -> bool:
        """True if the former owner was removed after a timeout, as it was answered later."""
        removed = self.former.end is not None and self.former.end.how == "removed"
        return removed and self.former.member.may_have_been_removed(self.next.began)

    @property
    def by(self) -> tuple[int, ...]:
        end = (self.former.end.event,) if self.former.end is not None and self.is_late else ()
        return (self.former.began.event, *end, self.next.began.event)

    @property
    def excuse(self) -> Evidence | None:
        """The evidence by which the former owner may have been removed, or forgotten; None without any."""
        if self.former.member.may_have_been_removed(self.next.began):
            return MAY_BE_REMOVED
        if self._may_be_dropped:
            return STALE_COORDINATOR
        return self.story.why_forgotten(self.former.began, self.next.began)

    @property
    def _may_be_dropped(self) -> bool:
        """True if the coordinator may have upgraded the group before it heard of the topic. Then it drops those partitions of a
        classic member without its acknowledgement."""
        return self.former.is_classic and any(
            beat.epoch == JOIN and self.story.may_lack_topics(beat)
            for beat in self.story.beats
            if self.former.began.event < beat.event <= self.next.began.event
        )

    def __str__(self) -> str:
        former, next = self.former, self.next
        return (
            f"{former.member} owned partition {former.place[1]} from epoch {former.first_epoch} and had not given it up when "
            f"{next.member} was given it at epoch {next.first_epoch}"
        )


def handovers(story: GroupStory) -> list[Handover]:
    """Return each partition's changes of its owner. All ownerships that are not over count as the one before, else the last.

    Between classic members a partition is moved by their own leader: only what the coordinator assigns counts. It takes over what
    that leader assigned last, so a classic member whose partition another one was given since owns it no more.
    """
    found: list[Handover] = []
    for _, holds in sorted(story.derive(holds_by_place).items(), key=lambda item: item[0]):
        for n, next in enumerate(holds):
            former = [
                one
                for k, one in enumerate(holds[:n])
                if _are_others(one, next) and not _is_moved(one, holds[k + 1 : n])
            ]
            open = [one for one in former if not one.ended_before(next.began.event)]
            found += [Handover(one, next) for one in open or former[-1:]]
    return found


def _are_others(hold: Hold, other: Hold) -> bool:
    return hold.member.owner != other.member.owner and not (hold.is_classic and other.is_classic)


def _is_moved(hold: Hold, later: list[Hold]) -> bool:
    """True if the leader of classic members gave the partition of one to another one since."""
    return hold.is_classic and any(one.is_classic and one.member.owner != hold.member.owner for one in later)


@story_judge("KIP1251-INV-08", GroupStory, "beats")
def at_most_one_owner(story: GroupStory) -> Iterator[Claim]:
    """No answer shows a partition to a member while another one owns it."""
    for one in story.derive(handovers):
        is_static = bool(one.former.member.instance_id or one.next.member.instance_id)
        yield _claim(one, "static" if is_static else "dynamic", "two-owners")


def _claim(handover: Handover, case: str, label: str) -> Claim:
    if not handover.is_late and (excuse := handover.excuse) is not None:
        return Excuse(excuse, case)
    return Finding(handover.is_late, case, handover.by, str(handover), label)


@story_judge("KIP1251-UPG-04", GroupStory, "classic")
def members_of_both_kinds_share_nothing(story: GroupStory) -> Iterator[Claim]:
    """No answer shows a partition to a member of one protocol while a member of the other one owns it."""
    for one in story.derive(handovers):
        if one.former.is_classic or one.next.is_classic:
            yield _claim(one, "single-owner", "two-owners")


@story_judge("KIP1251-BASE-02", GroupStory, "beats")
def partition_is_given_after_it_was_given_up(story: GroupStory) -> Iterator[Claim]:
    """A member is shown a partition only after its former owner acknowledged the revocation, left, or was removed."""
    for one in story.derive(handovers):
        end = one.former.end
        if not one.is_late:
            yield _claim(one, "acknowledged", "given-too-early")
        elif end is not None and end.how != "abandoned":
            yield _claim(one, end.how, "given-too-early")


@story_judge("KIP1251-BASE-03", GroupStory, "beats")
def owners_share_no_epoch(story: GroupStory) -> Iterator[Claim]:
    """The first epoch of the next owner is above the last one at which the former owner had the partition."""
    for one in story.derive(handovers):
        former, next = one.former, one.next
        if former.is_classic or next.is_classic or not one.is_late or former.end is None:
            continue
        case, held = _why_moved(one), next.first_epoch > former.last_epoch
        excuse = None if held else _why_lower(one)
        shown = (
            f"{former.member} had partition {next.place[1]} up to epoch {former.last_epoch}, and {next.member} has it from "
            f"epoch {next.first_epoch} on"
        )
        yield Excuse(excuse, case) if excuse else Finding(held, case, one.by, shown, "shared-epoch")


def _why_lower(handover: Handover) -> Evidence | None:
    if not is_never_empty(handover.story, handover.former.began.event, handover.next.began.event):
        return GROUP_MAY_BE_DELETED
    return handover.story.why_forgotten(handover.former.began, handover.next.began)


def _why_moved(handover: Handover) -> str:
    """Return the case: the group delays assignments, a subscription changed while the former owner had to give the partition up,
    or members came and went."""
    story, former = handover.story, handover.former
    if any(int(found.configs.get(INTERVAL) or 0) > 0 for found in story.altered):
        return "assignment-interval"
    changed = [beat for beat in story.beats if beat.topics is not None and beat.epoch > 0]
    during = any(0 <= former.told < beat.event and beat.asked < handover.next.began.event for beat in changed)
    return "subscription" if during else "membership"
