"""Committed offsets and their epochs (KIP-320), whatever happens to the group coordinator.

The judges do not determine which partition of __consumer_offsets a group uses: damage to any of them on a relevant node counts.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from conformance.judging.excuses import OFFSETS_LOST, STALE_COORDINATOR, UNSTABLE_OFFSETS, Evidence
from conformance.judging.facts.exchange import NONE, by_asked, by_event
from conformance.judging.facts.groups import FetchedOffset, OffsetCommitResult
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.timeline import FaultSpan

OFFSETS_TOPIC = "__consumer_offsets"
UNKNOWN = -1
REFUSED = frozenset((-2, 3, 12, 22, 24, 25, 27, 30, 82, 110, 113))
"""Errors of commits that were never sent, or refused before the append. Any other error leaves the outcome unknown:
COORDINATOR_NOT_AVAILABLE, for example, may mean that the append timed out or lost its leader."""
NO_OFFSET = -1


class ShownCommit(NamedTuple):
    """An OffsetFetch with the last commit certainly acknowledged before it, all commits that it may show, and all commits of the
    history.

    `excuse` is why the answer may show an earlier commit or none. It may never show an offset that was never committed.
    """

    fetch: FetchedOffset
    last: OffsetCommitResult
    legal: list[OffsetCommitResult]
    ever: list[OffsetCommitResult]
    excuse: Evidence | None

    def _is_one_of(self, commits: list[OffsetCommitResult]) -> bool:
        return any((one.offset, one.epoch) == (self.fetch.offset, self.fetch.epoch) for one in commits)

    def claims(self, case: str) -> Iterator[Claim]:
        """Judge the offset that the answer shows."""
        if self._is_one_of(self.legal):
            yield from [Finding(True, case, self.shown_by)] if not self.excuse else []
        elif self.excuse is not None and (self.fetch.offset == NO_OFFSET or self._is_one_of(self.ever)):
            yield Excuse(self.excuse, case)
        else:
            yield Finding(False, case, self.shown_by, str(self), "lost-commit")

    @property
    def shown_by(self) -> tuple[int, int]:
        return self.last.event, self.fetch.event

    def __str__(self) -> str:
        wanted = " or ".join(f"{o} of epoch {e}" for o, e in sorted({(one.offset, one.epoch) for one in self.legal}))
        found = f"offset {self.fetch.offset} of epoch {self.fetch.epoch}" if self.fetch.offset >= 0 else "no offset"
        return (
            f"{self.fetch.node} answered OffsetFetch of {self.fetch.group} with {found}, after {wanted} was committed"
        )


@log_judge("KIP101-INV-19", "committed")
def committed_offsets_keep_their_epoch(story: PartitionStory) -> Iterator[Claim]:
    """OffsetFetch returns the offset and epoch of the last acknowledged commit."""
    for one in story.derive(fetches_with_commits):
        yield from one.claims("committed")


@log_judge("KIP320-OC-03", "committed")
def committed_offsets_survive_their_coordinator(story: PartitionStory) -> Iterator[Claim]:
    """A committed offset survives when its coordinator is killed and returns, and when another broker takes over."""
    for one in story.derive(fetches_with_commits):
        if is_fail_over(story, one):
            yield from one.claims("move" if _coordinator(story, one.last) != one.fetch.node else "restart")


def is_fail_over(story: PartitionStory, one: ShownCommit) -> bool:
    """True if another broker than the one that took the commit answers, or another process of it."""
    took = _coordinator(story, one.last)
    lives = [story.timeline.incarnation(took, event) for event in (one.last.event, one.fetch.event)]
    return took != "" and (took != one.fetch.node or lives[0] != lives[1])


def _coordinator(story: PartitionStory, commit: OffsetCommitResult) -> str:
    """Return the broker that handled a commit. For a commit by a client library, that is the coordinator of the nearest request
    with no fault in between."""
    if commit.node in story.timeline.ids:
        return commit.node
    place = bisect_left(story.committed, commit.event, key=by_event)
    for one in (*reversed(story.committed[:place][-4:]), *story.committed[place : place + 4]):
        first, second = sorted((one.event, commit.event))
        if one.group == commit.group and not story.timeline.fault_between(first, second):
            return one.node
    return ""


def fetches_with_commits(story: PartitionStory) -> list[ShownCommit]:
    """Pair each OffsetFetch with the commits that were certainly acknowledged before it."""
    open_commits: dict[str, list[OffsetCommitResult]] = {}
    ever: dict[str, list[OffsetCommitResult]] = {}
    ahead = sorted(story.commits, key=by_event)
    found: list[ShownCommit] = []
    place = 0
    for fetch in sorted(story.committed, key=by_asked):
        while place < len(ahead) and ahead[place].event < fetch.asked:
            _take(open_commits.setdefault(ahead[place].group, []), ahead[place])
            ever.setdefault(ahead[place].group, []).append(ahead[place])
            place += 1
        known = open_commits.get(fetch.group, [])
        acknowledged = [one for one in known if one.error == NONE]
        if acknowledged:
            racing = [c for c in ahead[place : place + 64] if c.group == fetch.group and c.asked < fetch.event]
            racing = [c for c in racing if c.error not in REFUSED]
            before = [c for c in ever[fetch.group] if c.error not in REFUSED]
            excuse = why_older(story, acknowledged[-1], fetch)
            found.append(ShownCommit(fetch, acknowledged[-1], [*known, *racing], [*before, *racing], excuse))
    return found


def why_older(story: PartitionStory, commit: OffsetCommitResult, fetch: FetchedOffset) -> Evidence | None:
    """Return the evidence by which the answer may be older than a commit; None without any.

    A new coordinator shows older commits to requests without RequireStable, until its high watermark has caught up (KAFKA-14499):
    for as long as it may take to load. Java's consumer sets RequireStable, others may not.
    """
    if not _is_clean(story, commit, fetch):
        return OFFSETS_LOST
    if not _is_current(story, fetch):
        return STALE_COORDINATOR
    unstable = not fetch.stable and story.timeline.may_be_loading(commit.asked, fetch.event)
    return UNSTABLE_OFFSETS if unstable else None


def _take(known: list[OffsetCommitResult], commit: OffsetCommitResult) -> None:
    """Add a commit to those that may be shown.

    An acknowledged commit replaces those that were acknowledged before it was sent, also in a transaction: of two offsets the one
    that was written last is kept, whenever the transaction ends (KIP1251-TXN-05). A commit of unknown outcome may be written at
    any time.
    """
    if commit.error == NONE:
        known[:] = [one for one in known if one.accepted != NONE or one.event > commit.asked]
    if commit.error not in REFUSED:
        known.append(commit)


def _is_current(story: PartitionStory, fetch: FetchedOffset) -> bool:
    """True if no fault on the coordinator, or on a running controller, delays what the controllers tell the coordinator."""
    brokers = story.timeline.broker_names
    return all(
        not span.effects.may_delay_messages
        or (
            fetch.node not in span.nodes
            and not span.effects.every_broker
            and (span.effects.idles_processes or brokers.issuperset(span.nodes))
        )
        for span in story.timeline.active_faults(fetch.asked, fetch.event)
    )


def _is_clean(story: PartitionStory, commit: OffsetCommitResult, fetch: FetchedOffset) -> bool:
    """True if no fault between commit and fetch can have removed the commit from the group's log.

    The commit is on the coordinator that handled it and on all replicas in sync with it. It can be lost only by damage to that
    node or to the one that answers the fetch, or by an unclean election in __consumer_offsets.
    """
    took, spans = _coordinator(story, commit), story.timeline.active_faults(commit.asked, fetch.event)
    mine = (s for s in spans if s.effects.every_partition or s.partition.startswith(OFFSETS_TOPIC))
    return not any(s.effects.elects_uncleanly or _damages(s, took, fetch.node) for s in mine)


def _damages(span: FaultSpan, took: str, answers: str) -> bool:
    """True if the fault lost records on either node, or the leader epoch cache of the one that answers. The node that handled a
    commit is not always known."""
    records = span.effects.damages_log and (not took or not {took, answers}.isdisjoint(span.nodes))
    return records or (span.effects.loses_epochs and answers in span.nodes)
