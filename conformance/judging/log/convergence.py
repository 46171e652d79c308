"""Convergence of replicas once everything is healed and writes have ended (KIP-101, KIP-320)."""

from collections.abc import Iterator
from math import inf

import msgspec

from conformance.judging import excuses
from conformance.judging.facts.log import FetchResult, PartitionAtBroker, ReplicaOnDisk, say_epochs
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.records import first_difference
from conformance.judging.log.registrations import EpochRegistrations
from conformance.judging.log.replicas import Replicas
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.timeline import NEVER
from history.due import START_TIMEOUT
from protocol.words import say

ALIVE_SECONDS = 15.0
"""Seconds for which all brokers must have been alive at the end of the wait, so that replicas had time to converge."""
MIN_WAIT = 30.0
"""The minimum duration of the wait for agreement, in seconds: the general bound. Rigs wait for one session timeout longer."""
RECENT_SECONDS = 5.0
"""Seconds before the end of the wait in which each broker must have answered."""


class FinalState(msgspec.Struct, frozen=True):
    """The end of an example: the last Metadata answer, and each replica's log as fetched and as on disk.

    `certain`: a disagreement violates the row, since all replicas had agreed before or had the whole bound to agree. It is false
    if the kit watched too rarely to know (`watched`). Logs must agree `below` an offset, which is infinite unless a replica that
    lost its leader-epoch-checkpoint has not rejoined the ISR.
    """

    since: int
    certain: bool
    watched: bool
    look: PartitionAtBroker | None
    leader: FetchResult | None
    others: tuple[FetchResult, ...]
    disk: tuple[ReplicaOnDisk, ...]
    below: float

    def differs(self, node: str) -> str:
        """Return the difference between a node's log and the leader's; empty without one. High watermarks are ignored."""
        if self.leader is None:
            return ""
        return next((_differs(self.leader, read, self.below) for read in self.others if read.node == node), "")

    def has_converged(self, node: str, id: int) -> bool:
        """True if the node is in the ISR, with the log of the leader."""
        known = {read.node for read in (self.leader, *self.others) if read is not None}
        led = self.look is not None and self.look.leader >= 0 and id in self.look.isr
        return led and node in known and not self.differs(node)


def final_state(story: PartitionStory) -> FinalState | None:
    """Return the final state of a partition; None if the example never ended its wait for agreement, or if replicas may differ by
    compaction or corruption."""
    timeline, damage = story.timeline, story.derive(ReplicaDamage)
    since = _end_of_wait(story)
    if since < 0 or permitted_difference(story) is not None:
        return None
    replicas = story.derive(Replicas)
    last = {read.node: read for read in story.full_reads if read.asked > since and replicas.is_replica(read.node)}
    newest, leadership = max((read.cur for read in last.values()), default=-1), story.derive(Leadership)
    leader = next((read for read in last.values() if read.cur == newest and leadership.is_from_leader(read)), None)
    others = tuple(r for r in last.values() if r is not leader and r.cur == newest)
    look = next((seen for seen in reversed(story.metadata) if seen.asked > since), None)
    held_since = (held for held in story.on_disk if held.event > since and replicas.is_replica(held.node))
    disk = tuple({held.node: held for held in held_since}.values())
    certain, watched = timeline.rest >= 0 or _had_time_to_agree(story), timeline.watched_the_wait
    return FinalState(
        since, certain and watched, watched or not certain, look, leader, others, disk, damage.comparable_below(since)
    )


def _end_of_wait(story: PartitionStory) -> int:
    """Return the event at which the wait for agreement ended; -1 if it never did."""
    return story.timeline.rest if story.timeline.rest >= 0 else story.timeline.disagreed


def permitted_difference(story: PartitionStory) -> excuses.Evidence | None:
    """Return the evidence by which replicas may differ at the end; None if they must not, or if there is no end."""
    since = _end_of_wait(story)
    if since >= 0 and may_be_compacted(story, since):
        return excuses.COMPACTED
    return excuses.BYTES_FLIPPED if since >= 0 and story.derive(ReplicaDamage).is_corrupt(since) else None


def _had_time_to_agree(story: PartitionStory) -> bool:
    """True if all brokers answered until the end, listed one another as alive for `ALIVE_SECONDS`, and no fault was active.

    A fault counts as over once it is undone; it counts as healed only when the ISR is complete, which is in question here. A
    broker that should be up by now but is not listed as alive had the time too.
    """
    timeline, end = story.timeline, story.timeline.time(story.timeline.disagreed)
    if timeline.healed < 0 or any(min(span.undone, span.ended) == NEVER for span in timeline.spans):
        return False
    alive: dict[str, float] = {}
    for seen in story.metadata:
        at = timeline.time(seen.event)
        if timeline.healed < seen.event < timeline.disagreed:
            missing = (
                {timeline.names[id] for id in timeline.brokers - {*seen.unfenced}} if end - at < ALIVE_SECONDS else ()
            )
            if any(timeline.fault_free_seconds(node, seen.event) < START_TIMEOUT for node in missing):
                return False
            alive[seen.node] = at
    waited = end - timeline.time(timeline.healed) >= MIN_WAIT
    names = {timeline.names[id] for id in timeline.brokers}
    return waited and all(end - alive.get(name, 0.0) < RECENT_SECONDS for name in names)


def _log_end_difference(leader: FetchResult, other: FetchResult) -> str:
    """Return the difference between the log ends, in words; empty without one. Both must equal the leader's high watermark."""
    if other.log_end == leader.log_end == leader.high_watermark:
        return ""
    mark = f"log end and HW {leader.log_end} and {leader.high_watermark} on {leader.node}"
    return f"{mark}, log end {other.log_end} on {other.node}"


def _differs(one: FetchResult, other: FetchResult, below: float) -> str:
    """Return the difference between two full reads, from the higher log start up to an offset; empty without one."""
    if min(one.log_end, below) != min(other.log_end, below):
        return f"log end {one.log_end} on {one.node}, {other.log_end} on {other.node}"
    low = max(one.log_start, other.log_start)
    mine, theirs = ([batch for batch in read.batches if low <= batch.last < below] for read in (one, other))
    found = next((pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]), None)
    if found is None and len(mine) == len(theirs):
        return ""
    return (
        f"{one.node} holds {found[0]}, {other.node} {found[1]}" if found else f"{len(mine)} and {len(theirs)} batches"
    )


@log_judge("KIP101-INV-18", "metadata", "full_reads", "on_disk")
def replicas_agree_at_quiescence(story: PartitionStory) -> Iterator[Claim]:
    """Once faults are healed and writes have ended, all replicas reach the same log and leader epochs, and all are in the ISR."""
    end = final_state(story)
    if end is None:
        yield from [Excuse(left_out, "logs")] if (left_out := permitted_difference(story)) is not None else []
        return
    for claim in (*_in_sync(story, end), *_logs(end), *_compare_disks(story, end)):
        # After all had agreed, a later look may see a broker fenced that had no time to send its heartbeat.
        certain = end.certain and not (claim.case == "isr" and story.timeline.rest >= 0)
        if isinstance(claim, Excuse) or claim.held or certain:
            yield claim
        else:
            yield Excuse(excuses.NOT_AT_REST if end.watched else excuses.LOOKED_TOO_RARELY, claim.case)


def _in_sync(story: PartitionStory, end: FinalState) -> Iterator[Claim]:
    if end.look is None:
        return
    if end.look.leader < 0 and _all_lost_directories(story, end.look):
        yield Excuse(excuses.DISK_REPLACED, "isr")
        return
    shown = f"leader {end.look.leader} at {end.look.epoch}, ISR {say(end.look.isr)} of {say(end.look.replicas)}"
    for id in end.look.replicas:
        yield Finding(id in end.look.isr and end.look.leader >= 0, "isr", (end.look.event,), shown, "stuck")


def _all_lost_directories(story: PartitionStory, look: PartitionAtBroker) -> bool:
    """True if every replica that may be elected lost its log directory.

    The registration of the leader epoch says which these are, or else the ISR, or else all replicas.
    """
    described = story.derive(EpochRegistrations).of_epoch(look.epoch)
    named = {*described.members, *described.last_known} if described is not None else {*look.isr}
    return story.derive(ReplicaDamage).hit_all(
        named or {*look.replicas}, look.event, lambda effects: effects.loses_log_dir
    )


def _logs(end: FinalState) -> Iterator[Claim]:
    if end.leader is None:
        return
    for other in end.others:
        stuck = _log_end_difference(end.leader, other) if end.below == inf else ""
        differs = stuck or _differs(end.leader, other, end.below)
        if not differs and _differs(end.leader, other, inf):
            yield Excuse(excuses.EPOCHS_LOST, "logs")
        label = "stuck" if stuck else "divergent-prefix"
        yield Finding(not differs, "logs", (end.leader.event, other.event), differs, label)
        if not differs and end.below == inf:
            yield _watermark(end.leader, other)


def _watermark(leader: FetchResult, other: FetchResult) -> Finding:
    marks = leader.high_watermark, other.high_watermark
    shown = f"high watermark {marks[0]} on {leader.node}, {marks[1]} on {other.node}"
    return Finding(marks[0] == marks[1], "watermark", (leader.event, other.event), shown, "stuck")


def _compare_disks(story: PartitionStory, end: FinalState) -> Iterator[Claim]:
    """Compare the logs on disk, with their leader epochs and base offsets, and the leader epoch cache entries of epochs that have
    records."""
    damage = story.derive(ReplicaDamage)
    led = [held for held in end.disk if end.leader is not None and held.node == end.leader.node]
    for other in end.disk if led else ():
        if other.node == led[0].node:
            continue
        by, low = (led[0].event,), max(led[0].log_start, other.log_start, *_cache_starts(story, led[0], other))
        mine, theirs = ([batch for batch in held.batches if low <= batch[1] < end.below] for held in (led[0], other))
        shown = "" if mine == theirs else f"on disk {first_difference(led[0].node, mine, other.node, theirs)}"
        yield Finding(mine == theirs, "logs", by, shown, "divergent-prefix")
        # A replica learns the leader epochs of batches that it fetches again, not of those that it kept.
        if excuses.EPOCH_CACHE_LOST in {damage.damage_at(held.node, held.event) for held in (led[0], other)}:
            yield Excuse(excuses.EPOCH_CACHE_LOST, "maps")
            continue
        maps = [_entries(held, low) for held in (led[0], other)]
        shown = (
            ""
            if maps[0] == maps[1]
            else f"{led[0].node} has the leader epoch cache {say_epochs(maps[0].items())} from offset {low} on, and {other.node} "
            f"{say_epochs(maps[1].items())}"
        )
        yield Finding(maps[0] == maps[1], "maps", by, shown, "stuck")


def _cache_starts(story: PartitionStory, *replicas: ReplicaOnDisk) -> list[int]:
    """Return the first offsets of trimmed leader epoch caches. A crash may set the log start back below such an offset."""
    starts = story.derive(LogStarts)
    return [held.epochs[0][1] for held in replicas if held.epochs and starts.may_fall(held.event)]


def _entries(held: ReplicaOnDisk, low: int) -> dict[int, int | None]:
    """Return the start offset of each epoch with records at or above an offset; None if the cache has no entry."""
    starts = dict(held.epochs or ())
    with_records = dict.fromkeys(epoch for _, last, epoch, _ in held.batches if last >= low)
    return {epoch: max(starts[epoch], low) if epoch in starts else None for epoch in with_records}


# --- replicas that were healed


@log_judge("KIP320-REPL-09", "full_reads")
def healed_replicas_converge(story: PartitionStory) -> Iterator[Claim]:
    """A replica that was fenced, or that went on leading with uncommitted records of its own, converges to the common log and
    rejoins the ISR by itself."""
    end = final_state(story)
    if end is None or end.look is None or end.leader is None:
        return
    missed, replicas = _replicas_missing_epochs(story), story.derive(Replicas)
    premises = [
        *(("follower", *one) for one in _fenced_followers(story)),
        *(("leader", *one) for one in _leaders_with_lost_records(story, end.leader)),
    ]
    damage = story.derive(ReplicaDamage)
    for case, node, event in (one for one in premises if replicas.is_replica(one[1])):
        by = (event, end.leader.event, end.look.event)
        if case == "leader" and (left_out := damage.damage_at(node, end.leader.event)) is not None:
            yield Excuse(left_out, case)
            continue
        differs = end.differs(node)
        if end.has_converged(node, story.timeline.ids.get(node, -1)):
            # A replica that returns at the epoch at which it left had nothing to truncate.
            yield from [Finding(True, case, by)] if case == "leader" or node in missed else []
        elif end.certain and (differs or story.timeline.rest < 0):
            shown = f"{node} did not converge, with ISR {say(end.look.isr)} of the replicas {say(end.look.replicas)}; {differs}"
            label = "stuck" if story.timeline.rest < 0 else "divergent-prefix"
            yield Finding(False, case, by, shown, label)
        else:
            yield Excuse(excuses.NOT_AT_REST if end.watched else excuses.LOOKED_TOO_RARELY, case)


def _fenced_followers(story: PartitionStory) -> Iterator[tuple[str, int]]:
    """Return followers that were seen fenced and out of the ISR, each with the first Metadata answer that shows it."""
    found: dict[int, int] = {}
    for seen in story.first_metadata:
        if seen.leader >= 0 and seen.unfenced:
            for id in set(seen.replicas) - set(seen.isr) - set(seen.unfenced):
                found.setdefault(id, seen.event)
    return ((story.timeline.names[id], event) for id, event in found.items() if id in story.timeline.names)


def _replicas_missing_epochs(story: PartitionStory) -> set[str]:
    """Return the replicas that were last seen in the ISR at an epoch before one at which they were seen outside it."""
    last: dict[int, int] = {}
    missed: set[int] = set()
    for seen in story.first_metadata:
        missed |= {id for id in seen.replicas if id not in seen.isr and last.get(id, seen.epoch) < seen.epoch}
        last |= dict.fromkeys(seen.isr, seen.epoch)
    return {story.timeline.names[id] for id in missed if id in story.timeline.names}


def _leaders_with_lost_records(story: PartitionStory, final: FetchResult) -> Iterator[tuple[str, int]]:
    """Return leaders with records of their own epoch that the final log lacks, each with the first event that shows this."""
    found: dict[str, int] = {}
    for read in story.derive(Leadership).leader_reads:
        if read.batches and read.node not in found:
            last = read.batches[-1]
            if last.epoch == read.cur and last.last >= final.log_start and final.batch_at(last.last) != last:
                found[read.node] = read.event
    for write in story.produced:
        comparable = write.offset >= final.log_start and write.values and write.node not in found
        if comparable and final.value_at(write.offset) != write.values[0]:
            found[write.node] = write.event
    yield from found.items()
