"""Epochs of a group, of its target assignment and of its members: none goes back at any coordinator (KIP1251-BASE-08)."""

from collections.abc import Iterator
from typing import NamedTuple

from conformance.judging.excuses import Evidence
from conformance.judging.facts.exchange import NONE, Exchange, by_asked, by_event
from conformance.judging.facts.memberships import Beat, ClassicKind, ClassicRequest, GroupDescription
from conformance.judging.groups.evidence import DESCRIPTION_NOT_STABLE, GENERATION_NOT_STORED, GROUP_MAY_BE_DELETED
from conformance.judging.groups.members import is_never_empty
from conformance.judging.groups.story import GroupStory
from conformance.judging.judge import Claim, Excuse, Finding, story_judge

GROUP, TARGET = "the group epoch", "the target assignment epoch"


class Epoch(NamedTuple):
    """An epoch in one answer: that of the group, of the target assignment, or of a member."""

    of: str
    value: int
    answer: Exchange

    def __str__(self) -> str:
        return f"{self.answer.node} answered {self.value} as {self.of}"


def epochs_in(answer: Exchange) -> list[Epoch]:
    """Return the epochs that an answer shows."""
    match answer:
        case Beat() if answer.given_epoch >= 0:
            return [Epoch(_of_member(answer.member_id), answer.given_epoch, answer)]
        case ClassicRequest() if answer.kind in ("join", "sync") and answer.error == NONE:
            return [Epoch(_of_member(answer.member_id), answer.generation, answer)]
        case GroupDescription() if answer.said.error == NONE and answer.said.group_epoch >= 0:
            description = answer.said
            members = [
                (_of_member(one.member_id), one.member_epoch) for one in description.members if one.member_epoch >= 0
            ]
            shown = [(GROUP, description.group_epoch), (TARGET, description.assignment_epoch), *members]
            return [Epoch(of, value, answer) for of, value in shown]
    return []


def _of_member(id: str) -> str:
    return f"the epoch of {id}"


@story_judge("KIP1251-BASE-08", GroupStory, "beats", "classic", "described")
def epochs_never_go_back(story: GroupStory) -> Iterator[Claim]:
    """No answer shows a lower epoch of the group, of its target assignment or of a member than one before did.

    The epochs of the group and of its target assignment are at least each member's.
    """
    yield from _judge(story)


@story_judge("KIP360-INV-12", GroupStory, "beats", "classic", "described")
def group_epochs_are_ordered(story: GroupStory) -> Iterator[Claim]:
    """Group and member epochs never fall, whether or not another coordinator answers."""
    yield from _judge(story, "group-epochs")


def _judge(story: GroupStory, only_case: str = "") -> Iterator[Claim]:
    """Yield a finding for each epoch, compared with the highest before; the case is by coordinator if none is given."""
    shown: set[tuple[object, ...]] = set()
    for before, one in story.derive(after_the_highest):
        what = (one.of, one.value, before.value, one.answer.node, one.answer.incarnation)
        if what not in shown:
            shown.add(what)
            by_coordinator = "fail-over" if story.is_fail_over(before.answer, one.answer) else "one-coordinator"
            case = only_case or by_coordinator
            held = one.value >= before.value
            excuse = None if held else _why_lower(story, before.answer, one.answer)
            by = (before.answer.event, one.answer.event)
            yield (
                Excuse(excuse, case)
                if excuse
                else Finding(held, case, by, f"{before}; later {one}", "epoch-regression")
            )


def after_the_highest(story: GroupStory) -> list[tuple[Epoch, Epoch]]:
    """Return each epoch together with the highest that was answered before its request; with the highest one that is stored, if
    it is lower than that. A classic group stores its generation with the leader's assignment."""
    found: list[tuple[Epoch, Epoch]] = []
    answers = sorted([*story.beats, *story.classic, *story.described], key=by_event)
    highest: dict[str, Epoch] = {}
    stored: dict[str, Epoch] = {}
    place = 0
    for answer in sorted(answers, key=by_asked):
        while answers[place].event < answer.asked:
            for one in epochs_in(answers[place]):
                for of in {one.of} if one.of in (GROUP, TARGET) else {one.of, GROUP, TARGET}:
                    for known in (highest,) if _is_classic(one.answer, "join") else (highest, stored):
                        known[of] = max(one, known.get(of, one), key=_value)
            place += 1
        judged = [] if _is_classic(answer, "sync") else epochs_in(answer)
        for one in (one for one in judged if one.of in highest):
            kept = stored.get(one.of)
            found.append(((kept if kept is not None and one.value < kept.value else highest[one.of]), one))
    return found


def _value(epoch: Epoch) -> int:
    return epoch.value


def _is_classic(answer: Exchange, kind: ClassicKind) -> bool:
    return isinstance(answer, ClassicRequest) and answer.kind == kind


def _has_caught_up(story: GroupStory, before: Exchange, after: Exchange) -> bool:
    """True if the coordinator that gave the second answer granted a heartbeat since the first one: it grants none before all that
    it loaded is below its high watermark."""
    return any(
        before.event < beat.asked and beat.event < after.asked and not story.may_have_loaded_again(beat, after)
        for beat in story.beats
        if beat.error == NONE
    )


def _why_lower(story: GroupStory, before: Exchange, after: Exchange) -> Evidence | None:
    """Return the evidence by which an epoch may be lower; None without any."""
    has_loaded_again = story.may_have_loaded_again(before, after)
    if _is_classic(before, "join") and has_loaded_again:
        return GENERATION_NOT_STORED
    taken_over = has_loaded_again and story.timeline.fault_between(before.asked, after.event)
    if isinstance(after, GroupDescription) and taken_over and not _has_caught_up(story, before, after):
        return DESCRIPTION_NOT_STABLE
    if not is_never_empty(story, before.event, after.event):
        return GROUP_MAY_BE_DELETED
    return story.why_forgotten(before, after)
