"""Leader epochs (KIP-101, KIP-320): who led when, and what a broker at one epoch may serve or must refuse."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judges.judge import Finding, log_judge
from conformance.judges.story import (
    FENCED_LEADER_EPOCH,
    UNKNOWN_LEADER_EPOCH,
    PartitionStory,
    Seen,
)


@log_judge("KIP101-INV-10")
def epochs_never_fall(story: PartitionStory) -> Iterator[Finding]:
    """The leader epoch in the Metadata of one incarnation of a broker never falls."""
    last: dict[tuple[str, int], Seen] = {}
    for seen in story.seen:
        key = (seen.node, story.incarnation(seen))
        if (before := last.get(key)) is not None:
            shown = f"{seen.node} said epoch {before.epoch}, then {seen.epoch}"
            yield Finding(seen.epoch >= before.epoch, "answers", (before.event, seen.event), shown, "epoch-regression")
        last[key] = seen
    yield from _fences_never_fall(story)


def _fences_never_fall(story: PartitionStory) -> Iterator[Finding]:
    """A broker that fenced an epoch as older never again calls it, or an older one, newer than its own."""
    at_least: dict[tuple[str, int], tuple[int, int]] = {}
    for refusal in story.refusals:
        key = (refusal.node, story.incarnation(refusal))
        if refusal.error == UNKNOWN_LEADER_EPOCH and key in at_least:
            event, floor = at_least[key]
            shown = f"{refusal.node} knew epoch {floor} or a later one, then none above {refusal.cur - 1}"
            by = (event, refusal.event)
            yield Finding(refusal.cur - 1 >= floor, "fence", by, shown, "epoch-regression")
        if refusal.error == FENCED_LEADER_EPOCH and refusal.cur + 1 > at_least.get(key, (0, -1))[1]:
            at_least[key] = (refusal.event, refusal.cur + 1)


@log_judge("KIP101-INV-11")
def one_leader_per_epoch(story: PartitionStory) -> Iterator[Finding]:
    """No epoch has two leaders, whoever is asked."""
    first: dict[int, tuple[int, int]] = {}
    for seen in story.seen:
        if seen.leader >= 0:
            event, leader = first.setdefault(seen.epoch, (seen.event, seen.leader))
            if event != seen.event:
                shown = f"epoch {seen.epoch}: leader {leader}, then {seen.leader} by {seen.node}"
                yield Finding(leader == seen.leader, "metadata", (event, seen.event), shown)
    for refusal in story.refusals:
        if refusal.hint is not None and refusal.hint[0] in first:
            epoch, named = refusal.hint
            event, leader = first[epoch]
            shown = f"epoch {epoch}: leader {leader} by Metadata, {named} by a Fetch"
            yield Finding(leader == named, "hint", (event, refusal.event), shown)


@log_judge("KIP101-INV-12")
def no_future_stamps(story: PartitionStory) -> Iterator[Finding]:
    """A fetch that names an epoch and is answered 0 returns no batch of a later one."""
    for read in story.reads:
        if read.cur >= 0 and read.batches:
            newest = max(batch.epoch for batch in read.batches)
            case = "leader" if story.led(read) else "follower"
            shown = f"{read.node} answered a fetch at epoch {read.cur} with records of epoch {newest}"
            yield Finding(newest <= read.cur, case, (read.event,), shown, "fence-leak")


@log_judge("KIP101-EPOCH-02")
def every_leadership_change_raises_the_epoch(story: PartitionStory) -> Iterator[Finding]:
    """Whenever one incarnation of a broker sees another leader (or none), it sees a higher epoch."""
    last: dict[tuple[str, int], Seen] = {}
    for seen in story.seen:
        key = (seen.node, story.incarnation(seen))
        before = last.get(key)
        if before is not None and before.leader != seen.leader and not _hidden(before, seen):
            shown = f"{seen.node}: leader {before.leader} at {before.epoch}, then {seen.leader} at {seen.epoch}"
            case = "leaderless" if -1 in (before.leader, seen.leader) else "moved"
            yield Finding(seen.epoch > before.epoch, case, (before.event, seen.event), shown, "epoch-regression")
        last[key] = seen


def _hidden(before: Seen, seen: Seen) -> bool:
    """Is the leader only not named since it is fenced? That is no change of leader."""
    none, leader = (before, seen.leader) if before.leader < 0 else (seen, before.leader)
    return none.leader < 0 and before.epoch == seen.epoch and leader not in none.unfenced
