"""Committed offsets and their epochs (KIP-320), through whatever happens to the group coordinator.

Which partition of __consumer_offsets holds a group is not looked up: what damages any of them ends all claims.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from conformance.judging.facts.exchange import NONE, by_asked, by_event
from conformance.judging.facts.groups import FetchedOffset, OffsetCommit
from conformance.judging.judge import Finding, log_judge
from conformance.judging.log.story import PartitionStory
from history.effects import Effects

OFFSETS_TOPIC = "__consumer_offsets"
UNKNOWN = -1
REFUSED = frozenset((-2, 3, 12, 22, 24, 25, 27, 30, 82, 110, 113))
"""Never sent, or refused before anything was written. After other errors the outcome is unknown: an append that timed out, or
lost its leader, is answered as COORDINATOR_NOT_AVAILABLE.
"""


class Shown(NamedTuple):
    """An OffsetFetch, the last commit that was certainly acknowledged before it, and all that it may show."""

    fetch: FetchedOffset
    last: OffsetCommit
    legal: list[OffsetCommit]

    @property
    def held(self) -> bool:
        return any((one.offset, one.epoch) == (self.fetch.offset, self.fetch.epoch) for one in self.legal)

    def __str__(self) -> str:
        wanted = sorted({(one.offset, one.epoch) for one in self.legal})
        found = (self.fetch.offset, self.fetch.epoch)
        return f"{self.fetch.node} shows {found} for {self.fetch.group}, committed was {wanted}"


@log_judge("KIP101-INV-19", "committed")
def commits_are_shown_with_their_epoch(story: PartitionStory) -> Iterator[Finding]:
    """OffsetFetch returns the offset and epoch of the last acknowledged commit."""
    for one in _shown(story):
        yield Finding(one.held, "committed", (one.last.event, one.fetch.event), str(one), "lost-commit")


@log_judge("KIP320-OC-03", "committed")
def commits_survive_their_coordinator(story: PartitionStory) -> Iterator[Finding]:
    """They do when it is killed and returns, and when another broker takes over."""
    for one in _shown(story):
        took = _coordinator(story, one.last)
        lives = [story.timeline.incarnation(took, event) for event in (one.last.event, one.fetch.event)]
        if took and (took != one.fetch.node or lives[0] != lives[1]):
            case = "move" if took != one.fetch.node else "restart"
            yield Finding(one.held, case, (one.last.event, one.fetch.event), str(one), "lost-commit")


def _coordinator(story: PartitionStory, commit: OffsetCommit) -> str:
    """The broker that took a commit; for a client's, the group's coordinator before or after, without an event in between."""
    if commit.node in story.timeline.ids:
        return commit.node
    place = bisect_left(story.committed, commit.event, key=by_event)
    for one in (*reversed(story.committed[:place][-4:]), *story.committed[place : place + 4]):
        first, second = sorted((one.event, commit.event))
        if one.group == commit.group and not story.timeline.fault_between(first, second):
            return one.node
    return ""


def _shown(story: PartitionStory) -> Iterator[Shown]:
    """A stale coordinator answers from what it had: one that a fault is about is not asked, nor any beside broken links."""
    open_commits: dict[str, list[OffsetCommit]] = {}
    ahead = sorted(story.commits, key=by_event)
    place = 0
    for fetch in sorted(story.committed, key=by_asked):
        while place < len(ahead) and ahead[place].event < fetch.asked:
            _take(open_commits.setdefault(ahead[place].group, []), ahead[place])
            place += 1
        known = open_commits.get(fetch.group, [])
        acknowledged = [one for one in known if one.error == NONE]
        if not acknowledged or not _is_current(story, fetch) or not _is_clean(story, acknowledged[-1], fetch):
            continue
        # Its coordinator may be new: until its watermark has caught up it shows what it had committed before to those
        # that do not ask for stable offsets (KAFKA-14499). Clients do.
        if not fetch.stable and story.timeline.fault_between(acknowledged[-1].asked, fetch.event):
            continue
        racing = [c for c in ahead[place : place + 64] if c.group == fetch.group and c.asked < fetch.event]
        yield Shown(fetch, acknowledged[-1], [*known, *(c for c in racing if c.error not in REFUSED)])


def _take(known: list[OffsetCommit], commit: OffsetCommit) -> None:
    """An acknowledged commit replaces those that were acknowledged before it was sent. One with unknown outcome may
    be written at any time.
    """
    if commit.error == NONE:
        known[:] = [one for one in known if one.error != NONE or one.event > commit.asked]
    if commit.error not in REFUSED:
        known.append(commit)


def _is_current(story: PartitionStory, fetch: FetchedOffset) -> bool:
    spans = story.timeline.standing(fetch.asked, fetch.event)
    return all(span.effects.idles and fetch.node not in span.nodes for span in spans)


def _is_clean(story: PartitionStory, commit: OffsetCommit, fetch: FetchedOffset) -> bool:
    lost = [s for s in story.timeline.spans if _loses(s.effects) and commit.asked < s.ended and s.began < fetch.event]
    return not any(span.effects.every_partition or span.partition.startswith(OFFSETS_TOPIC) for span in lost)


def _loses(effects: Effects) -> bool:
    return effects.elects_uncleanly or effects.damages_log or effects.loses_epochs
