"""Comparisons of metadata logs: log matching (LOG-02, INV-08), committed records (INV-07, INV-14), snapshots (SNAP-01)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from conformance.judging.excuses import LOG_BEHIND
from conformance.judging.facts.exchange import by_event
from conformance.judging.facts.metadata_log import MetadataLogOnDisk
from conformance.judging.facts.quorum import MetadataFetch
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from conformance.judging.quorum.logs_on_disk import (
    HeldBatches,
    MetadataLogs,
    Watermark,
    batches_within,
    first_difference,
)
from conformance.judging.quorum.story import QuorumStory, excuses
from history.readings import HeldSnapshot

V = TypeVar("V")


@story_judge("KIP595-LOG-02", QuorumStory, "logs")
def logs_match(story: QuorumStory) -> Iterator[Claim]:
    """Two logs that have a batch with the same offset and epoch are equal up to it; below the high watermark all logs are
    equal."""
    logs = story.derive(MetadataLogs)
    for case in ("same-epoch", "committed"):
        yield from excuses(story, story.logs, case)
    for one, other in logs.pairs():
        yield from _equal_up_to_the_last_common(one, other)
        known = logs.watermark(other.asked, upto=min(one.last_epoch, other.last_epoch))
        if known is not None:
            yield from _equal_below(one, other, known)
        if logs.is_behind(one) or logs.is_behind(other):
            yield Excuse(LOG_BEHIND, "committed")


def _equal_up_to_the_last_common(one: MetadataLogOnDisk, other: MetadataLogOnDisk) -> Iterator[Finding]:
    ends = {(batch.base_offset, batch.leader_epoch): batch.last_offset for batch in one.held.batches}
    shared = [b for b in other.held.batches if (b.base_offset, b.leader_epoch) in ends]
    if shared:
        last = shared[-1]
        end = max(last.last_offset, ends[last.base_offset, last.leader_epoch]) + 1
        why = f"both have a batch of epoch {last.leader_epoch} at offset {last.base_offset}"
        yield _compared(one, other, end, "same-epoch", (one.event, other.event), why)


def _equal_below(one: MetadataLogOnDisk, other: MetadataLogOnDisk, known: Watermark) -> Iterator[Finding]:
    end = min(known.offset, one.held.log_end, other.held.log_end)
    if end > max(one.held.log_start, other.held.log_start):
        why = f"the high watermark was {known.offset} in epoch {known.epoch}"
        yield _compared(one, other, end, "committed", (known.event, one.event, other.event), why)


def _compared(
    one: MetadataLogOnDisk, other: MetadataLogOnDisk, end: int, case: str, by: tuple[int, ...], why: str
) -> Finding:
    start = max(one.held.log_start, other.held.log_start)
    offset = first_difference(batches_within(one, start, end), batches_within(other, start, end))
    shown = f"the logs of {one.node} and {other.node} differ at offset {offset}, and {why}"
    return Finding(offset < 0, case, by, shown, "differing-batches")


def _pairs(mine: Mapping[tuple[int, int], V], others: Iterable[tuple[tuple[int, int], V]]) -> list[tuple[V, V]]:
    """Return the batches of two nodes at one offset and epoch, the other node's first."""
    return [(other, mine[key]) for key, other in others if key in mine]


@story_judge("KIP595-INV-08", QuorumStory, "logs")
def equal_offset_and_epoch_is_equal_bytes(story: QuorumStory) -> Iterator[Claim]:
    """Batches with the same offset and epoch have equal bytes, on all nodes and at all times."""
    yield from excuses(story, story.logs, "batches")
    earlier: dict[str, MetadataLogOnDisk] = {}
    for read in story.derive(MetadataLogs).reads:
        mine = {(one.base_offset, one.leader_epoch): one for one in read.held.batches}
        for other in earlier.values():
            shared = _pairs(mine, [((one.base_offset, one.leader_epoch), one) for one in other.held.batches])
            if shared:
                wrong = next((one for one, two in shared if one != two), None)
                where = f"offset {wrong.base_offset} in epoch {wrong.leader_epoch}" if wrong else ""
                shown = f"{other.node} and {read.node} hold different batches of {where}"
                yield Finding(wrong is None, "batches", (other.event, read.event), shown, "differing-batches")
        earlier[read.node] = read


@story_judge("KIP595-INV-07", QuorumStory, "logs", "fetched")
def committed_prefix_never_changes(story: QuorumStory) -> Iterator[Claim]:
    """A batch that was seen below a high watermark is the same on every node that has its offset, forever."""
    yield from excuses(story, [*story.logs, *story.fetched], "batches")
    earlier: list[HeldBatches] = []
    for held, committed in _as_committed(story):
        for other in _latest_of_each(earlier):
            if (claim := _same_committed(other, held)) is not None:
                yield claim
        if committed is not None:
            earlier.append(committed)


def _as_committed(story: QuorumStory) -> Iterator[tuple[HeldBatches, HeldBatches | None]]:
    """Yield a node's batches together with the committed part of them: below a high watermark that was known in that epoch."""
    logs = story.derive(MetadataLogs)
    facts: list[MetadataLogOnDisk | MetadataFetch] = [*logs.reads, *story.comparable_facts(story.fetched)]
    for fact in sorted(facts, key=by_event):
        if isinstance(fact, MetadataFetch):
            held = HeldBatches.from_answer(fact)
            yield held, held
            continue
        held, known = HeldBatches.from_disk(fact), logs.watermark_for(fact)
        below = tuple([one for one in held.batches if known is not None and one[1] < known.offset])
        yield held, held._replace(epoch=known.epoch, batches=below) if known is not None and below else None


def _latest_of_each(earlier: Sequence[HeldBatches]) -> list[HeldBatches]:
    """Return the latest batches of each node with digests, and the latest without."""
    return [*{(one.node, bool(one.batches and one.batches[0][3])): one for one in earlier if one.batches}.values()]


def _same_committed(other: HeldBatches, held: HeldBatches) -> Claim | None:
    """Compare a node's batches with another node's committed ones; None if they have no offset in common."""
    common = [one for one in other.batches if held.start <= one[0] < held.end]
    if not common:
        return None
    if held.epoch < other.epoch:
        return Excuse(LOG_BEHIND, "batches")
    mine = {one[0]: one for one in held.batches}
    wrong = next((one for one in common if not _are_equal(one, mine.get(one[0]))), None)
    shown = f"{held.node} holds other bytes at offset {wrong[0]} than {other.node} had committed" if wrong else ""
    return Finding(wrong is None, "batches", (other.event, held.event), shown, "committed-changed")


def _are_equal(one: tuple[int, int, int, str], other: tuple[int, int, int, str] | None) -> bool:
    if other is None or one[:3] != other[:3]:
        return False
    return one[3] == other[3] or not (one[3] and other[3])


@story_judge("KIP595-INV-14", QuorumStory, "logs")
def no_older_epoch_behind_a_committed_record(story: QuorumStory) -> Iterator[Claim]:
    """After a committed record, below the high watermark, no log has a batch of an older epoch."""
    yield from excuses(story, story.logs, "committed")
    logs = story.derive(MetadataLogs)
    for other, read in logs.pairs():
        if logs.is_behind(other) or logs.is_behind(read):
            yield Excuse(LOG_BEHIND, "committed")
        known = logs.watermark(other.asked, upto=min(other.last_epoch, read.last_epoch))
        below = [one for one in other.held.batches if known is not None and one.last_offset < known.offset]
        if known is None or not below or read.held.log_end <= below[-1].base_offset:
            continue
        first = next(one for one in below if one.leader_epoch == below[-1].leader_epoch)
        late = (one for one in read.held.batches if first.base_offset <= one.base_offset < known.offset)
        wrong = next((one for one in late if one.leader_epoch < first.leader_epoch), None)
        shown = (
            f"offset {first.base_offset} of epoch {first.leader_epoch} was committed on {other.node}, and {read.node}"
        )
        shown += f" holds epoch {wrong.leader_epoch} at offset {wrong.base_offset}" if wrong else ""
        yield Finding(wrong is None, "committed", (known.event, other.event, read.event), shown, "older-epoch")


@story_judge("KIP595-SNAP-01", QuorumStory, "logs")
def snapshots_of_one_id_are_equal(story: QuorumStory) -> Iterator[Claim]:
    """Snapshots with the same end offset and epoch hold the same records on every node, and at all times."""
    yield from excuses(story, story.logs, "content")
    earlier: dict[str, MetadataLogOnDisk] = {}
    for read in story.derive(MetadataLogs).reads:
        mine = {(one.end_offset, one.epoch): one for one in read.held.snapshots}
        for other in earlier.values():
            shared = _pairs(mine, [((one.end_offset, one.epoch), one) for one in other.held.snapshots])
            if shared:
                yield _same_content(other, read, shared)
        earlier[read.node] = read


def _same_content(
    one: MetadataLogOnDisk, other: MetadataLogOnDisk, shared: Sequence[tuple[HeldSnapshot, HeldSnapshot]]
) -> Finding:
    wrong = next(((a, b) for a, b in shared if a != b), None)
    shown = ""
    if wrong is not None:
        id = f"the snapshot that ends at offset {wrong[0].end_offset} in epoch {wrong[0].epoch}"
        shown = f"{one.node} has {_say(wrong[0])} in {id}, {other.node} has {_say(wrong[1])}, and not the same"
    return Finding(wrong is None, "content", (one.event, other.event), shown, "differing-snapshots")


def _say(snapshot: HeldSnapshot) -> str:
    return f"{snapshot.records} records" + (f" and {snapshot.torn}" if snapshot.torn else "")
