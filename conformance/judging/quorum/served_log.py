"""The metadata log as leaders serve it: epochs in order (INV-14, LOG-04), high watermarks above the first record of the epoch
(INV-06, HW-01), divergence (FETCH-04)."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from conformance.judging.facts.quorum import MetadataBatch, MetadataFetch, StoredEpochs
from conformance.judging.judge import Claim, Finding, story_judge
from conformance.judging.quorum.high_watermark import LeadersWatermark, watermarks
from conformance.judging.quorum.story import QuorumStory, excuses, in_real_time
from protocol.log import EpochAndOffset
from protocol.words import say

# --- the first offset of each epoch


def epoch_starts(story: QuorumStory) -> dict[int, tuple[int, int]]:
    """Return the first offset of each epoch, with the event that shows it: from leader-epoch-checkpoint, and from answers with
    batches of two epochs.

    The first line of the file counts only at offset 0. Otherwise the log may begin inside the epoch, after a snapshot.
    """
    found: dict[int, tuple[int, int]] = {}
    for stored in story.comparable_facts(story.stored_epochs):
        for n, (epoch, start) in enumerate(stored.starts):
            if n > 0 or start == 0:
                found.setdefault(epoch, (start, stored.event))
    for fetched in story.comparable_facts(story.fetched):
        for before, batch in pairwise(fetched.batches):
            if before.epoch < batch.epoch:
                found.setdefault(batch.epoch, (batch.first, fetched.event))
    return found


def _above_the_epochs_start(story: QuorumStory, case: str) -> Iterator[Finding]:
    starts = story.derive(epoch_starts)
    shown: set[tuple[object, ...]] = set()
    for one in story.comparable_facts(story.derive(watermarks)):
        what = (one.node, one.incarnation, one.case, one.epoch, one.offset)
        if one.epoch in starts and what not in shown:
            shown.add(what)
            yield _beside_the_start(one, *starts[one.epoch], case)


def _beside_the_start(one: LeadersWatermark, start: int, event: int, case: str) -> Finding:
    wrong = f"{one}, which begins at offset {start}"
    return Finding(one.offset > start, case, (event, one.event), wrong, "watermark-below-epoch")


@story_judge("KIP595-INV-06", QuorumStory, "described", "fetched")
def high_watermark_lies_in_its_epoch(story: QuorumStory) -> Iterator[Claim]:
    """A leader reports a high watermark only above the first record of its epoch."""
    yield from excuses(story, story.derive(watermarks), "leader")
    yield from _above_the_epochs_start(story, "leader")


@story_judge("KIP595-HW-01", QuorumStory, "described", "fetched")
def high_watermark_is_known_after_the_epochs_start(story: QuorumStory) -> Iterator[Claim]:
    """Every leader reports a high watermark only above the first record of its epoch (HW-01)."""
    yield from excuses(story, story.derive(watermarks), "every-epoch")
    yield from _above_the_epochs_start(story, "every-epoch")


# --- epochs in order


def _in_order(story: QuorumStory, case: str) -> Iterator[Finding]:
    """Yield a finding for the batches in each answer: their epochs never decrease, and none is later than the leader's."""
    shown: set[tuple[object, ...]] = set()
    for one in story.comparable_facts(story.fetched):
        what = (one.node, one.known.leader_epoch, one.batches)
        if one.batches and what not in shown:
            shown.add(what)
            epochs = [*(batch.epoch for batch in one.batches), one.known.leader_epoch]
            wrong = f"{one.node} served batches of epochs {say(epochs[:-1])} in epoch {epochs[-1]}"
            yield Finding(epochs == sorted(epochs), case, (one.event,), wrong, "epochs-out-of-order")


@story_judge("KIP595-LOG-04", QuorumStory, "fetched")
def epochs_of_batches_never_fall(story: QuorumStory) -> Iterator[Claim]:
    """Batches of the metadata log are in the order of their epochs."""
    yield from excuses(story, story.fetched, "batches")
    yield from _in_order(story, "batches")


@story_judge("KIP595-INV-14", QuorumStory, "fetched")
def committed_epochs_stay_in_order(story: QuorumStory) -> Iterator[Claim]:
    """Batches of the metadata log are in the order of their epochs, and no batch committed after another has an older epoch."""
    for case in ("order", "committed"):
        yield from excuses(story, story.fetched, case)
    yield from _in_order(story, "order")
    committed: dict[MetadataBatch, int] = {}
    for one, earlier in in_real_time(story.comparable_facts(story.fetched)):
        for other in earlier:
            committed |= {batch: other.event for batch in _committed(other) if batch not in committed}
        found = [_behind_older(one, batch, committed) for batch in _committed(one)] if committed else []
        yield from sorted(found, key=lambda finding: finding.held)[:1]


def _committed(fetched: MetadataFetch) -> list[MetadataBatch]:
    return [batch for batch in fetched.batches if batch.last < fetched.high_watermark]


def _behind_older(one: MetadataFetch, batch: MetadataBatch, committed: Mapping[MetadataBatch, int]) -> Finding:
    """Compare a committed batch with the newest epoch that was committed at or before its offset."""
    before = [other for other in committed if other.first <= batch.first]
    newest = max(before, key=lambda other: other.epoch, default=batch)
    by = (committed.get(newest, one.event), one.event)
    known = f"offset {newest.first} was committed in epoch {newest.epoch}"
    wrong = f"{known}; later {one.node} had {batch.first} in epoch {batch.epoch}"
    return Finding(batch.epoch >= newest.epoch, "committed", by, wrong, "epochs-out-of-order")


# --- divergence


@story_judge("KIP595-FETCH-04", QuorumStory, "fetched")
def divergence_is_as_the_log_has_it(story: QuorumStory) -> Iterator[Claim]:
    """A fetch diverges exactly if the leader's log ends the fetch's last epoch before the fetch offset, and it then gets no
    records."""
    case = "every-fetch"
    yield from excuses(story, story.fetched, case, alone=True)
    files = story.judgeable_facts(story.stored_epochs)
    for one in story.judgeable_facts(story.fetched):
        file = next((stored for stored in files if _is_leaders(stored, one)), None)
        allowed = _allowed(one, file.starts) if file is not None else ()
        if allowed or one.diverging is not None:
            right = one.diverging in allowed if allowed else _lies_before(one.diverging, one)
            by = (one.event,) if file is None or not allowed else (file.event, one.event)
            held = right and not (one.diverging is not None and one.batches)
            yield Finding(held, case, by, _diverging_in_words(one), "wrong-divergence")


def _is_leaders(stored: StoredEpochs, fetched: MetadataFetch) -> bool:
    """True if leader-epoch-checkpoint was read from the leader that answered, in its epoch: earlier epochs no longer change."""
    newest = stored.starts[-1][0] if stored.starts else -1
    return (stored.node, newest) == (fetched.node, fetched.known.leader_epoch)


def _allowed(fetched: MetadataFetch, starts: Sequence[tuple[int, int]]) -> tuple[EpochAndOffset | None, ...]:
    """Return the diverging epoch that a fetch must get, or None. Empty if it is unknown, since the log may begin with a snapshot
    or end in the fetcher's epoch. At offset 0 there is nothing before that could diverge, whatever epoch the fetcher names."""
    place = bisect_right([epoch for epoch, _ in starts], fetched.last_epoch) - 1
    if not 0 <= place < len(starts) - 1:
        return ()
    (epoch, _), (_, end) = starts[place : place + 2]
    matches = epoch == fetched.last_epoch and fetched.offset <= end
    diverging = EpochAndOffset(epoch, end)
    return (None,) if matches else (None, diverging) if fetched.offset == 0 else (diverging,)


def _lies_before(diverging: EpochAndOffset | None, fetched: MetadataFetch) -> bool:
    """True if the fetcher can truncate to the diverging epoch."""
    if diverging is None:
        return True
    fits = diverging.epoch <= fetched.last_epoch
    return fits and (diverging.epoch < fetched.last_epoch or diverging.end_offset < fetched.offset)


def _diverging_in_words(fetched: MetadataFetch) -> str:
    position = f"offset {fetched.offset} after epoch {fetched.last_epoch}"
    found = fetched.diverging
    answer = f"the diverging epoch {found.epoch} with end offset {found.end_offset}" if found else "no diverging epoch"
    return f"{fetched.node} answered a fetch at {position} with {answer} and {len(fetched.batches)} batches"
