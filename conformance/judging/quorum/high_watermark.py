"""High watermarks: a majority has all records below them (HW-02, INV-05), and they never decrease (HW-04, INV-04)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from conformance.judging.facts.exchange import Exchange, exchange_of
from conformance.judging.facts.quorum import QuorumDescription
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from conformance.judging.quorum.evidence import VOTER_LOG_LOST, VOTERS_CHANGED
from conformance.judging.quorum.story import QuorumStory, excuses, in_real_time, loses_metadata_records
from protocol.quorum import QuorumAnswer
from protocol.words import say


def _reached_by_a_majority(story: QuorumStory, case: str) -> Iterator[Claim]:
    epochs = [(one.event, one.said.leader_epoch) for one in story.described]
    voters, changed, known = frozenset[int](), set[int](), set[QuorumAnswer]()
    for one in story.described if story.has_several_voters else ():
        before, voters = voters, frozenset(voter.replica_id for voter in one.said.current_voters)
        if before and voters != before:
            changed.add(one.said.leader_epoch)
        if one.said.high_watermark < 0 or one.said in known:
            continue
        known.add(one.said)
        if one.said.leader_epoch in changed:
            yield Excuse(VOTERS_CHANGED, case)
        elif _lost_in(one.said.leader_epoch, one.event, story, epochs):
            yield Excuse(VOTER_LOG_LOST, case)
        else:
            yield _counted(one, case)


def _counted(one: QuorumDescription, case: str) -> Finding:
    ends = sorted(voter.log_end_offset for voter in one.said.current_voters)
    reached = sum(end >= one.said.high_watermark for end in ends)
    shown = f"{one.node}: the logs of the voters end at {say(ends)}, the high watermark is {one.said.high_watermark}"
    return Finding(reached > len(ends) // 2, case, (one.event,), shown)


def _lost_in(epoch: int, event: int, story: QuorumStory, epochs: Sequence[tuple[int, int]]) -> bool:
    """True if a fault before an event may have removed a voter's records of this epoch. The first epoch described after the fault
    may have begun before it."""
    voters = story.timeline.controller_names
    began = [
        span.began
        for span in story.timeline.spans
        if span.began < event and loses_metadata_records(span.effects) and not voters.isdisjoint(span.nodes)
    ]
    return any(epoch <= next(later for at, later in epochs if at > one) for one in began)


@story_judge("KIP595-HW-02", QuorumStory, "described")
def majority_reaches_the_high_watermark(story: QuorumStory) -> Iterator[Claim]:
    """In each description of the quorum the log ends of a majority of the voters are at or above the high watermark."""
    yield from _reached_by_a_majority(story, "majority")


@story_judge("KIP595-INV-05", QuorumStory, "described")
def high_watermark_is_within_a_majority(story: QuorumStory) -> Iterator[Claim]:
    """The high watermark never exceeds the log ends of a majority of the voters, as an invariant."""
    yield from _reached_by_a_majority(story, "describe-quorum")


# --- in real time


class LeadersWatermark(Exchange, frozen=True, gc=False):
    """A high watermark that a leader reported, with its epoch."""

    case: str
    epoch: int
    offset: int

    def __str__(self) -> str:
        return f"{self.node} reported the high watermark {self.offset} in epoch {self.epoch}"


def watermarks(story: QuorumStory) -> list[LeadersWatermark]:
    """Return the high watermarks that leaders reported in descriptions and to Fetch, without -1."""
    described = [
        LeadersWatermark(*exchange_of(one), "describe-quorum", one.said.leader_epoch, one.said.high_watermark)
        for one in story.described
    ]
    fetched = [
        LeadersWatermark(*exchange_of(one), "fetch", one.known.leader_epoch, one.high_watermark)
        for one in story.fetched
    ]
    return [one for one in (*described, *fetched) if one.offset >= 0]


def _comparable(story: QuorumStory) -> Iterable[Sequence[LeadersWatermark]]:
    """Yield the high watermarks that can be compared with each other: all of them or, where the kit plays voters, those of one
    process in one epoch, which rise whatever the voters do."""
    reported = story.derive(watermarks)
    if not story.is_scripted:
        return [story.comparable_facts(reported)]
    found: dict[tuple[str, int, int], list[LeadersWatermark]] = {}
    for one in story.judgeable_facts(reported):
        found.setdefault((one.node, one.incarnation, one.epoch), []).append(one)
    return found.values()


def _pairs(reported: Sequence[LeadersWatermark]) -> Iterator[tuple[LeadersWatermark, LeadersWatermark]]:
    """Yield each high watermark with the highest one that had been reported, in its epoch or an older one, before its request."""
    highest: dict[int, LeadersWatermark] = {}
    for one, earlier in in_real_time(reported):
        for other in earlier:
            if other.offset >= getattr(highest.get(other.epoch), "offset", -1):
                highest[other.epoch] = other
        known = [other for epoch, other in highest.items() if epoch <= one.epoch]
        if known:
            yield max(known, key=lambda other: other.offset), one


def _never_lower(story: QuorumStory) -> Iterator[Finding]:
    """Yield a finding for the first high watermark of a node and epoch, and for each later one that differs or fell."""
    shown: set[tuple[object, ...]] = set()
    for before, one in chain.from_iterable(map(_pairs, _comparable(story))):
        held = one.offset >= before.offset
        what = (one.node, one.incarnation, one.case, one.epoch, one.offset, held)
        if what not in shown:
            shown.add(what)
            wrong = f"{before}; later {one}"
            yield Finding(held, one.case, (before.event, one.event), wrong, "watermark-fell")


@story_judge("KIP595-INV-04", QuorumStory, "described", "fetched")
def high_watermark_never_falls(story: QuorumStory) -> Iterator[Claim]:
    """No leader reports a lower high watermark than one reported before in its own epoch or an older one."""
    for case in ("describe-quorum", "fetch"):
        mine = [one for one in story.derive(watermarks) if one.case == case]
        yield from excuses(story, mine, case, alone=story.is_scripted)
    yield from _never_lower(story)


@story_judge("KIP595-HW-04", QuorumStory, "described", "fetched")
def leaders_high_watermark_never_goes_back(story: QuorumStory) -> Iterator[Claim]:
    """No answer of a leader has a lower high watermark than an earlier one."""
    yield from excuses(story, story.derive(watermarks), "leader", alone=story.is_scripted)
    yield from (msgspec.structs.replace(finding, case="leader") for finding in _never_lower(story))
