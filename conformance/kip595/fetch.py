"""Fetch and FetchSnapshot of the metadata log (KIP-595, KIP-630)."""

from collections.abc import Callable
from itertools import pairwise

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.quorum.fetching import landmarks, log_end, own_end, try_fetch
from conformance.rigs.quorum.quorum import FAR, QUORUM, EpochStart, Quorum, Tried, skipped_epochs
from protocol.codes import Error
from protocol.log import EpochAndOffset, FetchedPartition
from strategies.inputs import CONTROLLERS, PLACES, Place, near_or_far, versions_back

OLDER = versions_back(3)

READS = 6
"""The number of fetches in one example."""

NEGATIVE = "a negative field"


def is_refusal(tried: Tried[FetchedPartition], error: Error) -> bool:
    """True if the fetch got this partition error with the receiver's leader and epoch, no records, and changed no
    state."""
    answer = tried.answer
    nothing = not answer.batches and answer.high_watermark == -1 and answer.diverging_epoch is None
    as_expected = answer.error is error and answer.top_level_error is Error.NONE
    return as_expected and nothing and answer.current_leader == tried.leader and tried.is_unchanged


@probe("KIP595-FETCH-01", rig=QUORUM, cases=["older-epoch", "newer-epoch"], member=CONTROLLERS, by=integers(1, 4),
       place=PLACES, older=OLDER)  # fmt: skip
def another_epoch_is_fenced(quorum: Quorum, case: str, member: int, by: int, place: Place, older: int) -> Claims:
    """Leader and followers refuse a fetch in any epoch but their own, and adopt no epoch."""
    ahead, error = (-by, Error.FENCED_LEADER_EPOCH) if case == "older-epoch" else (by, Error.UNKNOWN_LEADER_EPOCH)
    offset = place.among(landmarks(quorum))
    tried = try_fetch(quorum, quorum.any(member), offset, ahead=ahead, last_fetched_epoch=0, older=older)
    yield held_if(is_refusal(tried, error), tried.answer)


@probe("KIP595-FETCH-01", rig=QUORUM, cases=["not-leader"], follower=integers(0, 1), place=PLACES, older=OLDER)
def follower_serves_no_fetch(quorum: Quorum, follower: int, place: Place, older: int) -> Claims:
    """A controller that is not the leader names the leader and returns no records."""
    offset = place.among(landmarks(quorum))
    tried = try_fetch(quorum, quorum.followers()[follower], offset, older=older)
    yield held_if(is_refusal(tried, Error.NOT_LEADER_OR_FOLLOWER), tried.answer)


@probe("KIP595-FETCH-02", rig=QUORUM, by=near_or_far(1000, 2), older=OLDER)
def invalid_arguments_are_refused(quorum: Quorum, case: str, by: int, older: int) -> Claims:
    """The leader refuses impossible offsets, epochs and wait times, just beyond the limit and further."""
    leader = quorum.one("leader")
    ask: dict[str, Callable[[int], Tried[FetchedPartition]]] = {
        "offset-negative": lambda by: try_fetch(quorum, leader, -by, older=older, malformed=NEGATIVE),
        "epoch-negative": lambda by: try_fetch(
            quorum, leader, 1, last_fetched_epoch=-by, older=older, malformed=NEGATIVE
        ),
        "epoch-above": lambda by: try_fetch(quorum, leader, 1, last_fetched_beyond=by, older=older),
        "wait-negative": lambda by: try_fetch(quorum, leader, 1, max_wait_ms=-by, older=older, malformed=NEGATIVE),
    }
    for beyond in (1, by):
        tried = ask[case](beyond)
        answer = tried.answer
        invalid = answer.error is Error.INVALID_REQUEST and answer.top_level_error is Error.NONE
        yield held_if(invalid and not answer.batches and tried.is_unchanged, answer)


def diverging(log: list[EpochStart], end: int, last_fetched_epoch: int) -> EpochAndOffset:
    """Return the leader's largest epoch that is at most `last_fetched_epoch`, and its end offset (KIP-595)."""
    known = [line.epoch for line in log if line.epoch <= last_fetched_epoch]
    later = [line.start for line in log if line.epoch > last_fetched_epoch]
    return EpochAndOffset(known[-1] if known else last_fetched_epoch, later[0] if later else end)


@probe("KIP595-FETCH-04", rig=QUORUM, cases=["epoch-unknown", "epoch-below-first", "past-epoch-end"],
       place=PLACES, older=OLDER)  # fmt: skip
def diverging_epoch_is_answered(quorum: Quorum, case: str, place: Place, older: int) -> Claims:
    """A fetch past the end of an old epoch, or in an unknown epoch, is answered with the diverging epoch and its end offset."""
    log = quorum.epochs()
    offset, epoch = diverging_position(log, case, place, landmarks(quorum))
    yield premise(epoch < log[-1].epoch, f"an epoch before {log[-1].epoch}")
    known = epoch in [line.epoch for line in log]
    yield premise(known == (case == "past-epoch-end"), "the log has the epoch only where the case says so")
    tried = try_fetch(quorum, quorum.one("leader"), offset, last_fetched_epoch=epoch, older=older)
    yield premise(quorum.epochs() == log, "no new epoch in the log")
    # With epoch 0 the answer is the same whether the log begins with a snapshot or not.
    whole = [*quorum.first_snapshot(), *log] if 0 < epoch < log[0].epoch else log
    yield held_if(diverges(tried.answer, diverging(whole, -1, epoch)), tried.answer)


def diverging_position(log: list[EpochStart], case: str, place: Place, landmarks: list[int]) -> tuple[int, int]:
    """Return an (offset, epoch) at which no log consistent with the leader's can end, if there is one in its log.

    Each epoch of the log has its turn, near its end or near any landmark that is not before.
    """
    number, offset = place.landmark, place.among(landmarks)
    if case == "epoch-below-first":
        return max(1, offset), log[0].epoch - 1
    if case == "epoch-unknown":
        skipped = skipped_epochs(log) or [log[-1].epoch]
        return max(1, offset), skipped[number % len(skipped)]
    ended, later = list(pairwise(log))[number % (len(log) - 1)]
    return max(later.start + 1, offset if place.near < 0 else later.start + 1 + place.near), ended.epoch


def diverges(answer: FetchedPartition, where: EpochAndOffset) -> bool:
    matches = answer.diverging_epoch == where
    return answer.error is Error.NONE and matches and not answer.batches


@probe("KIP595-FETCH-04", rig=QUORUM, cases=["past-log-end"], by=near_or_far(FAR), older=OLDER)
def fetch_past_the_log_end_diverges(quorum: Quorum, by: int, older: int) -> Claims:
    """A fetch past the leader's log end is answered with that log end, in the leader's epoch."""
    earlier = quorum.describe_by_leader()
    offset = log_end(quorum) + by
    tried = try_fetch(quorum, quorum.one("leader"), offset, older=older)
    later = quorum.describe_by_leader()
    yield premise(own_end(later.leader_id, later) < offset, f"a log that ends before {offset}")
    epoch = tried.before.reported.leader_epoch
    yield premise(earlier.leader_epoch == later.leader_epoch == epoch, f"still epoch {epoch}")
    diverging = tried.answer.diverging_epoch or EpochAndOffset()
    # The leader appends on its own, so its log end is known only as a range, from reads before and after.
    lies = own_end(earlier.leader_id, earlier) <= diverging.end_offset <= own_end(later.leader_id, later)
    yield held_if(lies and diverges(tried.answer, EpochAndOffset(epoch, diverging.end_offset)), tried.answer)


@probe("KIP595-FETCH-03", "KIP595-FETCH-04", rig=QUORUM, offset=integers(0, 1000), older=OLDER)
def matching_position_returns_the_log(quorum: Quorum, case: str, offset: int, older: int) -> Claims:
    """A fetch whose position is in the leader's log returns the records that follow, and no diverging epoch."""
    log, leader = quorum.epochs(), quorum.one("leader")
    end = log_end(quorum)
    for step in range(READS):
        start, epoch = matching_position(log, end, case, offset + step)
        tried = try_fetch(quorum, leader, start, last_fetched_epoch=epoch, older=older)
        yield premise(tried.before.reported.leader_epoch == log[-1].epoch, f"still epoch {log[-1].epoch}")
        answer = tried.answer
        yield held_if(follows(answer, start, log[-1].epoch), answer)
        agrees = answer.error is Error.NONE and answer.diverging_epoch is None and answer.snapshot_id is None
        yield held_if(agrees, answer, row="KIP595-FETCH-04", case="matching")


def matching_position(log: list[EpochStart], end: int, case: str, number: int) -> tuple[int, int]:
    """Return an offset of the log, and the epoch of the record before it: each epoch has its turn."""
    if case == "epoch-start":
        which = 1 + number % (len(log) - 1)
        return log[which].start, log[which - 1].epoch
    # Every other one is close to the end, because an answer may run on to the log end.
    near = inside_boundaries(log, end)
    if near and number % 2:
        return near[number // 2 % len(near)]
    offset = end - 1 - number % (end // 2)
    return next((offset, line.epoch) for line in reversed(log) if line.start < offset)


def inside_boundaries(log: list[EpochStart], end: int) -> list[tuple[int, int]]:
    """Return the offsets after the first record and before the last one of each epoch, with that epoch."""
    ends = [*(later.start for later in log[1:]), end]
    near = [(offset, line.epoch) for line, over in zip(log, ends, strict=True) for offset in (line.start + 1, over - 1)
            if line.start < offset < over]  # fmt: skip
    return list(dict.fromkeys(near))


def follows(answer: FetchedPartition, offset: int, epoch: int) -> bool:
    """True if the batches follow each other from the one with `offset` on, in epochs that never decrease or exceed
    `epoch`."""
    batches = answer.batches
    if answer.error is not Error.NONE or not batches or not batches[0].base_offset <= offset <= batches[0].last_offset:
        return False
    pairs = list(pairwise(batches))
    contiguous = all(later.base_offset == earlier.last_offset + 1 for earlier, later in pairs)
    epochs = [batch.leader_epoch for batch in batches]
    known = answer.log_start_offset >= 0 and answer.high_watermark >= 0 and answer.session_id == 0
    return contiguous and epochs == sorted(epochs) and 0 < epochs[0] <= epochs[-1] <= epoch and known
