"""Offsets that members commit: none of an ownership that ended shows after its successor's (KIP1251-INV-09), an accepted one is
readable until it is overwritten, and a refused one never (INV-11)."""

from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from conformance.judging.excuses import UNSTABLE_OFFSETS, Evidence
from conformance.judging.facts.exchange import NONE, by_asked
from conformance.judging.facts.groups import GroupFetch, OffsetCommitResult, OffsetInGroupFetch
from conformance.judging.groups.members import Place
from conformance.judging.groups.owners import Handover, handovers
from conformance.judging.groups.story import GroupStory
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from conformance.judging.log.committed_offsets import fetches_with_commits, is_fail_over
from conformance.judging.log.refused_commits import DEFINITE, is_refused, judge_refused
from conformance.judging.log.story import PartitionStory, log_judge


class Shown(NamedTuple):
    """The offset of one partition in an OffsetFetch answer; `asked` and `event` are as in an `Exchange`."""

    asked: int
    event: int
    fetch: GroupFetch
    part: OffsetInGroupFetch

    @property
    def value(self) -> tuple[int, int]:
        return self.part.offset, self.part.epoch


Baseline: TypeAlias = Shown | OffsetCommitResult
"""The first fetch after a partition had its next owner, or that owner's first accepted commit."""


class Offsets(NamedTuple):
    """The commits and the fetches of one partition, in the order of their requests."""

    commits: list[OffsetCommitResult]
    shown: list[Shown]


def offsets_by_place(story: GroupStory) -> dict[Place, Offsets]:
    """Return the commits and the fetches of each partition."""
    found: dict[Place, Offsets] = {}
    for commit in sorted(story.commits, key=by_asked):
        found.setdefault(commit.place, Offsets([], [])).commits.append(commit)
    for fetch in sorted(story.fetches, key=by_asked):
        for part in fetch.partitions if fetch.error == NONE else ():
            if part.error == NONE:
                found.setdefault(part.place, Offsets([], [])).shown.append(Shown(fetch.asked, fetch.event, fetch, part))
    return found


@story_judge("KIP1251-INV-09", GroupStory, "commits")
def no_offset_of_an_ownership_that_ended(story: GroupStory) -> Iterator[Claim]:
    """No fetch shows an offset that a former owner committed at an epoch of its ownership after the partition had its next owner.

    A commit that was in flight at that time counts if it comes after a fetch, or after the next owner's commit. At a later epoch
    the former owner is allowed to commit (KIP1251-COMMIT-06), so such commits are none of its ownership.
    """
    for one in story.derive(handovers):
        offsets = story.derive(offsets_by_place).get(one.next.place)
        for late, after in _late_commits(one, offsets) if offsets is not None and one.is_late else ():
            assert offsets is not None
            yield from _judge_late(one, late, after, offsets)


def _baseline(handover: Handover, offsets: Offsets) -> Baseline | None:
    """Return the first fetch, or accepted commit of the next owner, since it has the partition; None without any."""
    began, owner = handover.next.began.event, handover.next.member.id
    own = [one for one in offsets.commits if one.member_id == owner and one.error == NONE and one.asked > began]
    shown = [one for one in offsets.shown if one.asked > began]
    candidates: list[Baseline] = [*own[:1], *shown[:1]]
    return min(candidates, key=attrgetter("event"), default=None)


def _late_commits(handover: Handover, offsets: Offsets) -> Iterator[tuple[OffsetCommitResult, Baseline]]:
    """Yield the former owner's commits at an epoch of its ownership that come too late, each with what it comes after: itself if
    it was sent after the next owner had the partition, else the baseline.

    An offset in a transaction takes effect at the place of its commit: before that of the next owner, whenever the marker comes.
    """
    former, began, baseline = handover.former, handover.next.began.event, _baseline(handover, offsets)
    for one in offsets.commits:
        if one.member_id != former.member.id or not former.first_epoch <= one.member_epoch <= former.last_epoch:
            continue
        is_replaced = one.transactional_id is not None and isinstance(baseline, OffsetCommitResult)
        if one.asked > began:
            yield one, one
        elif baseline is not None and (one.event > baseline.asked or _is_open(one) or is_replaced):
            yield one, baseline


def _is_open(commit: OffsetCommitResult) -> bool:
    return commit.accepted != NONE and not is_refused(commit)


def _judge_late(handover: Handover, late: OffsetCommitResult, after: Baseline, offsets: Offsets) -> Iterator[Claim]:
    """Yield a finding about the first later fetch, or about the one that shows the offset and that no other commit explains."""
    later = [one for one in offsets.shown if one.asked > (late.asked if after is late else after.event)]
    wrong = next((one for one in later if not is_refused(late) and _shows_only(late, one, offsets, after)), None)
    shown = wrong or next((one for one in later if one.asked > late.event), None)
    case = "plain" if late.transactional_id is None else "transactional"
    if wrong is not None and (excuse := _why_shown(handover, late, wrong)) is not None:
        yield Excuse(excuse, case)
    elif shown is not None:
        former, owner = handover.former.member, handover.next
        standing = former.standing_during(late)
        is_current = standing is not None and standing.exact and standing.epoch == late.member_epoch
        detail = (
            f"{shown.fetch.node} shows offset {late.offset} of {late.topic}-{late.partition}, which {former} committed at epoch "
            f"{late.member_epoch}{', its epoch at that time' if is_current else ''}, though {owner.member} owned it since epoch "
            f"{owner.first_epoch}"
        )
        yield Finding(wrong is None, case, (owner.began.event, late.event, shown.event), detail, "zombie-offset")


def _shows_only(late: OffsetCommitResult, shown: Shown, offsets: Offsets, after: Baseline) -> bool:
    """True if a fetch shows the late commit's offset, which no other commit has, and which the baseline did not show."""
    value = (late.offset, late.epoch)
    others = (
        one for one in offsets.commits if one is not late and one.accepted not in DEFINITE and one.asked < shown.event
    )
    known = isinstance(after, Shown) and after.value == value
    return shown.value == value and not known and all((one.offset, one.epoch) != value for one in others)


def _why_shown(handover: Handover, late: OffsetCommitResult, shown: Shown) -> Evidence | None:
    timeline = handover.story.timeline
    if not shown.fetch.stable and timeline.may_be_loading(late.asked, shown.event):
        return UNSTABLE_OFFSETS
    return handover.story.why_forgotten(handover.next.began, shown.fetch)


# --- accepted and refused


@log_judge("KIP1251-INV-11", "committed")
def commits_of_members_are_readable_or_refused(story: PartitionStory) -> Iterator[Claim]:
    """OffsetFetch shows the last accepted commit of a member, also at the next coordinator, and never a refused one."""
    for one in story.derive(fetches_with_commits):
        if one.last.member_id:
            yield from one.claims("fail-over" if is_fail_over(story, one) else "accepted")
    yield from judge_refused(story, "refused", partial(filter, attrgetter("member_id")))
