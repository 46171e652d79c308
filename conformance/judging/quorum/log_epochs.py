"""Epochs in the metadata log, in its leader epoch cache and in the quorum-state beside it (LOG-04, INV-14)."""

from collections.abc import Iterator

from conformance.judging.excuses import EPOCH_FILES_CHANGED
from conformance.judging.facts.metadata_log import MetadataLogOnDisk
from conformance.judging.judge import Claim, Excuse, Finding, story_judge
from conformance.judging.quorum.logs_on_disk import first_batches, first_decrease
from conformance.judging.quorum.story import QuorumStory, excuses


def _never_decrease(story: QuorumStory, case: str) -> Iterator[Claim]:
    yield from excuses(story, story.logs, case, alone=True)
    for read in story.judgeable_facts(story.logs):
        if len(read.held.batches) > 1:
            fall = first_decrease((one.base_offset, one.leader_epoch) for one in read.held.batches)
            shown = "{}: the batch at offset {} follows one of epoch {} and has epoch {}".format(
                read.node, *fall or ("",) * 3
            )
            yield Finding(fall is None, case, (read.event,), shown, "epoch-fell-in-log")


@story_judge("KIP595-LOG-04", QuorumStory, "logs")
def epochs_in_a_log_never_decrease(story: QuorumStory) -> Iterator[Claim]:
    """The epochs of the batches in a controller's log never decrease."""
    yield from _never_decrease(story, "batches")


@story_judge("KIP595-INV-14", QuorumStory, "logs")
def log_is_in_the_order_of_epochs(story: QuorumStory) -> Iterator[Claim]:
    """The epochs of the batches in a controller's log never decrease, as an invariant."""
    yield from _never_decrease(story, "order")


@story_judge("KIP595-LOG-04", QuorumStory, "logs")
def epoch_files_agree_with_the_log(story: QuorumStory) -> Iterator[Claim]:
    """The leader epoch cache has the first offset of each epoch in the log, and no batch has a later epoch than quorum-state."""
    for case in ("epoch-checkpoint", "quorum-state"):
        yield from excuses(story, story.logs, case, alone=True)
    for read in story.judgeable_facts(story.logs):
        for finding in (_cache_agrees(read), _state_is_not_older(read)):
            if finding is not None:
                yield finding if read.held.steady else Excuse(EPOCH_FILES_CHANGED, finding.case)


def _cache_agrees(read: MetadataLogOnDisk) -> Finding | None:
    """Compare leader-epoch-checkpoint with the batches between log start and log end; None for an empty log."""
    if not read.held.batches:
        return None
    cached = {one.epoch: one.start_offset for one in read.held.epochs or ()}
    start = _log_start(read, min(cached.values(), default=0))
    kept = {one.leader_epoch for one in read.held.batches if one.last_offset >= start}
    log = {one.leader_epoch: max(one.base_offset, start) for one in first_batches(read) if one.leader_epoch in kept}
    inside = range(start + 1, read.held.log_end)
    missing = next((epoch for epoch, offset in log.items() if cached.get(epoch) != offset), None)
    strange = next((epoch for epoch, offset in cached.items() if offset in inside and epoch not in log), None)
    wrong = missing if missing is not None else strange
    shown = f"{read.node}: epoch {wrong} begins at offset {log.get(wrong or 0, 'none')} in the log, "
    shown += f"and at offset {cached.get(wrong or 0, 'none')} in leader-epoch-checkpoint"
    return Finding(wrong is None, "epoch-checkpoint", (read.event,), shown, "wrong-epoch-cache")


def _log_start(read: MetadataLogOnDisk, first: int) -> int:
    """Return the offset at which the log begins: where its files do, or the end of a snapshot which the epoch cache begins at.
    Records before that are removed first, and their files later."""
    return first if first in {one.end_offset for one in read.held.snapshots} else read.held.log_start


def _state_is_not_older(read: MetadataLogOnDisk) -> Finding | None:
    """Compare the newest epoch of the log with quorum-state; None for an empty log, or if the file is missing or damaged."""
    if not read.held.batches or read.state is None:
        return None
    newest = max(one.leader_epoch for one in read.held.batches)
    shown = f"{read.node}: its log has a batch of epoch {newest}, and its quorum-state is of epoch {read.state.epoch}"
    return Finding(newest <= read.state.epoch, "quorum-state", (read.event,), shown, "older-quorum-state")
