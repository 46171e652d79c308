"""The quorum in the nodes' own metrics: what was applied stays (INV-13), watermarks trail (HW-06), one leader (MET-02)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from conformance.judging.facts.exchange import Exchange, exchange_of
from conformance.judging.facts.gauges import RaftGauges
from conformance.judging.judge import Claim, Finding, story_judge
from conformance.judging.quorum.high_watermark import LeadersWatermark, watermarks
from conformance.judging.quorum.story import QuorumStory, excuses, in_real_time

LEADER = "leader"


class Offset(Exchange, frozen=True, gc=False):
    """An offset in a node's metrics."""

    number: int


def _processes(facts: Sequence[RaftGauges]) -> list[list[RaftGauges]]:
    """Return the facts of each process, in the order of the answers."""
    found: dict[tuple[str, int], list[RaftGauges]] = {}
    for one in facts:
        found.setdefault((one.node, one.incarnation), []).append(one)
    return list(found.values())


# --- brokers


@story_judge("KIP595-INV-13", QuorumStory, "applied", "gauges")
def brokers_metadata_never_goes_back(story: QuorumStory) -> Iterator[Claim]:
    """No offset that a broker has applied, and no high watermark of it, is lower than the same process showed before."""
    applied = [Offset(*exchange_of(one), one.offset) for one in story.applied]
    known = [Offset(*exchange_of(one), one.high_watermark) for one in story.gauges if one.node in _brokers(story)]
    for case, offsets in (("applied", applied), ("high-watermark", known)):
        yield from excuses(story, offsets, case, alone=True)
        yield from _never_back(story.judgeable_facts([one for one in offsets if one.number >= 0]), case)


def _brokers(story: QuorumStory) -> frozenset[str]:
    """Return the names of the nodes that are no controllers."""
    return frozenset(story.timeline.ids) - story.timeline.controller_names


def _never_back(offsets: Sequence[Offset], case: str) -> Iterator[Finding]:
    """Yield a finding for each further offset of a process, compared with the last one that was answered before its request."""
    highest: dict[tuple[str, int], Offset] = {}
    shown: set[tuple[object, ...]] = set()
    for one, earlier in in_real_time(offsets):
        for other in earlier:
            best = highest.get((other.node, other.incarnation))
            if best is None or other.number >= best.number:
                highest[other.node, other.incarnation] = other
        before = highest.get((one.node, one.incarnation))
        held = before is None or one.number >= before.number
        what = (one.node, one.incarnation, one.number, held)
        if before is not None and what not in shown:
            shown.add(what)
            wrong = f"{one.node} showed {before.number}, later {one.number} ({case})"
            yield Finding(held, case, (before.event, one.event), wrong, "metadata-went-back")


# --- replicas


@story_judge("KIP595-HW-06", QuorumStory, "gauges", "described", "fetched")
def replicas_high_watermark_is_bounded(story: QuorumStory) -> Iterator[Claim]:
    """No replica's high watermark is above the end of its own log, or the leader's high watermark, as read later."""
    yield from excuses(story, story.gauges, "bound")
    gauges = story.comparable_facts(story.gauges)
    for process in _processes(gauges):
        for before, one in pairwise(process):
            if before.event < one.asked and before.high_watermark >= 0:
                wrong = f"{before}; later {one}"
                yield Finding(
                    one.end >= before.high_watermark, "bound", (before.event, one.event), wrong, "above-its-log"
                )
    yield from _below_the_leaders(story, gauges)


class ReplicasWatermark(Exchange, frozen=True, gc=False):
    """A follower's or observer's high watermark, with an epoch in which it was at that moment or later."""

    epoch: int
    offset: int


def _below_the_leaders(story: QuorumStory, gauges: Sequence[RaftGauges]) -> Iterator[Finding]:
    """Yield a finding for each leader's high watermark that was asked for after a replica had shown its own.

    The epoch and the high watermark in one read may be of two moments, so a replica's high watermark is taken with the epoch of
    its next read.
    """
    replicas = [
        ReplicasWatermark(*exchange_of(one), later.epoch, one.high_watermark)
        for process in _processes(gauges)
        for one, later in pairwise(process)
        if one.state != LEADER and one.high_watermark >= 0
    ]
    leaders = story.comparable_facts(story.derive(watermarks))
    highest: dict[int, ReplicasWatermark] = {}
    all_of_them: list[ReplicasWatermark | LeadersWatermark] = [*replicas, *leaders]
    for one, earlier in in_real_time(all_of_them):
        for other in earlier:
            if isinstance(other, ReplicasWatermark) and other.offset > getattr(highest.get(other.epoch), "offset", -1):
                highest[other.epoch] = other
        known = [other for epoch, other in highest.items() if epoch <= one.epoch]
        if known and not isinstance(one, ReplicasWatermark):
            above = max(known, key=lambda other: other.offset)
            wrong = f"{above.node} showed the high watermark {above.offset}; later {one}"
            yield Finding(one.offset >= above.offset, "bound", (above.event, one.event), wrong, "above-the-leaders")


# --- leaders


@story_judge("KIP595-MET-02", QuorumStory, "gauges")
def one_node_shows_leader_in_an_epoch(story: QuorumStory) -> Iterator[Claim]:
    """No two nodes show that they lead in the same epoch."""
    yield from excuses(story, story.gauges, "one-leader")
    first: dict[int, RaftGauges] = {}
    shown: set[tuple[str, int, int]] = set()
    for one in _steady(story.comparable_facts(story.gauges)):
        other = first.setdefault(one.epoch, one)
        if (one.node, one.incarnation, one.epoch) not in shown:
            shown.add((one.node, one.incarnation, one.epoch))
            yield Finding(
                other.node == one.node, "one-leader", (other.event, one.event), f"{other}; {one}", "two-leaders"
            )


def _steady(gauges: Sequence[RaftGauges]) -> Iterator[RaftGauges]:
    """Yield the gauges of nodes that led in the same epoch at their previous read, since one read may mix two moments."""
    for process in _processes(gauges):
        for before, one in pairwise(process):
            if before.state == one.state == LEADER and before.epoch == one.epoch:
                yield one


@story_judge("KIP595-MET-03", QuorumStory, "gauges")
def epoch_in_metrics_never_falls(story: QuorumStory) -> Iterator[Claim]:
    """The epoch that a process shows is never lower than the one that it showed before."""
    case = "leader-and-epoch"
    yield from excuses(story, story.gauges, case, alone=True)
    epochs = [Offset(*exchange_of(one), one.epoch) for one in story.judgeable_facts(story.gauges)]
    yield from _never_back(epochs, case)
