"""Controllers without contact to others: nothing is committed without a majority (INV-11), and from 4.0 an isolated voter does
not raise its epoch (INV-17)."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.quorum import KnownLeader
from conformance.judging.judge import Claim, Finding, joint_judge, story_judge
from conformance.judging.quorum.high_watermark import watermarks
from conformance.judging.quorum.leaders import STORED
from conformance.judging.quorum.story import QuorumStory, by_node, excuses
from conformance.judging.timeline import FaultSpan
from conformance.judging.together import Together
from conformance.judging.topics.story import ResourceStory
from protocol.words import say

DEFAULT_MS = "2000"
"""The default of both settings below."""
TIMEOUTS = ("controller.quorum.request.timeout.ms", "controller.quorum.fetch.timeout.ms")

AT_WORK = 1.0
"""Seconds for which a leader may still work on what it received before it lost the others."""


def majority_away(story: QuorumStory, first: int, second: int, slack: float) -> list[str]:
    """Return the controllers that were down, frozen or cut off from `slack` seconds before an event until another one, if the
    others are no majority; else empty."""
    timeline = story.timeline
    since = timeline.earlier(first, slack)
    away = [
        name
        for name in sorted(timeline.controller_names)
        if timeline.down(name, since, second) or timeline.cut_off(name, since, second)
    ]
    left = len(timeline.controller_names) - len(away)
    return away if left <= len(timeline.controller_names) // 2 else []


@joint_judge("KIP595-INV-11", QuorumStory, ResourceStory)
def nothing_is_committed_without_a_majority(together: Together) -> Iterator[Claim]:
    """While a majority of the controllers is away, no change is acknowledged and no high watermark rises."""
    for quorum in together.stories_of(QuorumStory):
        if quorum.has_several_voters and quorum.timeline.witnessed:
            yield from excuses(quorum, [max(quorum.known, key=by_event)] if quorum.known else [], "acks")
            yield from _acknowledged(quorum, together)
            yield from _watermark_stays(quorum)


def _acknowledged(quorum: QuorumStory, together: Together) -> Iterator[Finding]:
    """Yield a finding for each change that was requested and answered, or given up, while a majority was away."""
    # After these seconds no write from before the loss of the majority can still be acknowledged.
    slack = sum(int(quorum.timeline.settings.get(name, DEFAULT_MS)) for name in TIMEOUTS) / 1000
    changes = [one for story in together.stories_of(ResourceStory) for one in story.changes]
    for change in sorted(quorum.comparable_facts(changes), key=by_event):
        if away := majority_away(quorum, change.asked, change.event, slack):
            detail = (
                f"{say(away)} had been away for {slack:g} s and more; {change.node}: {change} of the {change.resource}"
            )
            by = (change.event, *last_named(quorum))
            yield Finding(change.outcome != "done", "acks", by, detail, "committed-without-majority")


def _watermark_stays(quorum: QuorumStory) -> Iterator[Finding]:
    """Yield a finding for each two high watermarks that were reported one after the other while a majority was away."""
    for before, after in pairwise(sorted(quorum.comparable_facts(watermarks(quorum)), key=by_event)):
        if before.event < after.asked and (away := majority_away(quorum, before.asked, after.event, AT_WORK)):
            detail = f"{say(away)} had been away for {AT_WORK:g} s and more; {before}, then {after}"
            by = (before.event, after.event, *last_named(quorum))
            yield Finding(after.offset == before.offset, "high-watermark", by, detail, "committed-without-majority")


def last_named(quorum: QuorumStory) -> list[int]:
    """Return the event of the last answer that names the quorum's leader, which may show a change caused by a fault."""
    return [one.event for one in quorum.known if one.source in ("vote", "describe")][-1:]


# --- epochs


@story_judge("KIP595-INV-17", QuorumStory, "states")
def isolated_voter_keeps_its_epoch(story: QuorumStory) -> Iterator[Claim]:
    """The epoch that a voter stores stays while it is cut off from the others, and rises by one at most if it led."""
    yield from excuses(story, story.states, "follower", alone=True)
    stored = by_node(one for one in story.judgeable_facts(story.known) if one.source == STORED)
    for span in story.timeline.spans if not story.is_scripted else ():
        for node in story.timeline.controller_names & {*span.nodes} if span.effects.cut_off else ():
            while_cut_off = [one for one in stored.get(node, ()) if _lies_within(one, span)]
            if len({one.incarnation for one in while_cut_off}) == 1 < len(while_cut_off):
                yield _epoch_stays(while_cut_off[0], while_cut_off[-1], story.timeline.ids[node])


def _lies_within(read: KnownLeader, span: FaultSpan) -> bool:
    return span.witnessed < read.asked and read.event < min(span.undone, span.ended)


def _epoch_stays(first: KnownLeader, last: KnownLeader, id: int) -> Finding:
    led = first.leader == id
    detail = f"{first}; while it was cut off {last}"
    held = last.epoch - first.epoch <= led
    return Finding(held, "leader" if led else "follower", (first.event, last.event), detail, "epoch-rose")
