"""Positions of readers, each an offset with the epoch of the record before it (KIP-320): positions that are still valid, and
those whose records were truncated."""

from collections.abc import Callable, Iterator
from itertools import takewhile

from conformance.judging.excuses import COMPACTED, LOG_START_SET_BACK, Evidence
from conformance.judging.facts import log as facts
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.responding_replica import ReplicaLog, ReplicaLogs
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory, log_judge
from protocol.codes import Error
from protocol.since import since

SENDS_EPOCH_FROM = since("FetchRequest", "LastFetchedEpoch")
"""The first Fetch version with LastFetchedEpoch."""
Case = Callable[[PartitionStory, facts.FetchResult], str]


def _fetches(story: PartitionStory, own_logs: ReplicaLogs) -> Iterator[tuple[facts.FetchResult, ReplicaLog]]:
    """Yield the consumer fetches that named both epochs, each with the undamaged log of the replica that answered."""
    damage = story.derive(ReplicaDamage)
    return (
        (read, own)
        for read, own in _fetches_with_both_epochs(story, own_logs)
        if damage.damage_at(read.node, read.event) is None
    )


def _fetches_with_both_epochs(
    story: PartitionStory, own_logs: ReplicaLogs
) -> Iterator[tuple[facts.FetchResult, ReplicaLog]]:
    for read in story.reads:
        named = read.last >= 0 and read.cur >= 0 and read.version >= SENDS_EPOCH_FROM
        if named and read.by_consumer and (own := own_logs.log_of_responder(read)) is not None:
            yield read, own


def _fetches_of_damaged(story: PartitionStory, own_logs: ReplicaLogs, case: Case) -> Iterator[Excuse]:
    """Yield a left-out for each fetch that a damaged replica answered."""
    damage = story.derive(ReplicaDamage)
    for read, _ in _fetches_with_both_epochs(story, own_logs):
        if (left_out := damage.damage_at(read.node, read.event)) is not None:
            yield Excuse(left_out, case(story, read))


def _out_of_range(story: PartitionStory, own_logs: ReplicaLogs) -> Iterator[tuple[facts.ErrorResponse, ReplicaLog]]:
    """Yield consumer fetches with both epochs that got OFFSET_OUT_OF_RANGE, each with the replica's log."""
    damage = story.derive(ReplicaDamage)
    for one in story.errors:
        named = one.op == "fetch" and one.last >= 0 and one.cur >= 0 and one.replica_id == facts.CONSUMER
        if named and one.error == Error.OFFSET_OUT_OF_RANGE and damage.damage_at(one.node, one.event) is None:
            own = own_logs.log_of_responder(one)
            if own is not None:
                yield one, own


def _is_valid(own: ReplicaLog, offset: int, epoch: int) -> bool:
    """True if the record before the position is in the responding replica's log, with that leader epoch."""
    batch = own.batch_at(offset - 1)
    return batch is not None and batch.epoch == epoch


# --- positions that are still valid


@log_judge("KIP101-INV-20", "reads", "epoch_ends")
def valid_positions_are_not_reported_as_truncated(story: PartitionStory) -> Iterator[Claim]:
    """Neither Fetch nor OffsetForLeaderEpoch reports a position as truncated that the responding replica holds or that a consumer
    reached."""
    own_logs = story.derive(ReplicaLogs)
    for _, finding in _valid_fetches(story, own_logs):
        yield finding
    yield from _fetches_of_damaged(story, own_logs, lambda *_: "fetch")
    yield from _lookups(story, own_logs)
    yield from _judge_read_positions(story)
    yield from _judge_epoch_ends(story)


@log_judge("KIP320-FETCH-09", "reads", "errors", "epoch_ends")
def valid_fetch_positions_do_not_diverge(story: PartitionStory) -> Iterator[Claim]:
    """Neither a leader nor a follower reports a valid position as diverging, or as out of range unless it is below the log start.

    The answers of ListOffsets are positions too.
    """
    own_logs = story.derive(ReplicaLogs)
    for case, finding in _valid_fetches(story, own_logs):
        yield Finding(finding.held, case, finding.by, finding.detail, finding.label)
    yield from _fetches_of_damaged(story, own_logs, _role)
    yield from _listed_positions(story, own_logs)
    for one, own in _out_of_range(story, own_logs):
        if _is_valid(own, one.position, one.last) and 0 <= own.start <= one.position:
            shown = f"{one.node} called offset {one.position} after epoch {one.last} out of range; its log starts at {own.start}"
            yield Finding(False, _role(story, one), (one.event,), shown, "false-truncation")
    yield from _lookups(story, own_logs)
    yield from _judge_read_positions(story)


def _judge_read_positions(story: PartitionStory) -> Iterator[Claim]:
    """Judge that a record that a consumer got below the high watermark is missing at a later leader only by a permitted loss.

    The leader need not hold the record for this to count: a log that lost it is the case that matters.
    """
    permitted, damage = story.derive(PermittedLosses), story.derive(ReplicaDamage)
    for read in story.derive(Leadership).leader_reads:
        cut = read.by_consumer and read.diverging is not None and read.diverging[1] < read.fetch_offset
        given = _first_read_of(story, read) if cut else None
        if given is None:
            continue
        since, now, place = (max(given.cur, read.last), given.event), (read.cur, read.event), read.fetch_offset - 1
        permission = permitted.between(since, now, offset=place)
        if (excuse := permission or damage.damage_at(read.node, read.event)) is not None:
            yield Excuse(excuse, "fetch")
        else:
            record = f"offset {read.fetch_offset - 1} of epoch {read.last}"
            shown = f"{given.node} gave a consumer {record}, and {read.node} {facts.say_divergence(read.diverging)}"
            yield Finding(False, "fetch", (given.event, read.event), shown, "false-truncation")


def _first_read_of(story: PartitionStory, read: facts.FetchResult) -> facts.FetchResult | None:
    """Return the first answer at this epoch or an earlier one that gave a consumer the record before this position."""
    place = read.fetch_offset - 1
    earlier = takewhile(lambda one: one.event < read.asked, story.reads)
    committed = (one for one in earlier if one.by_consumer and place < one.high_watermark and one.cur <= read.cur)
    return next((one for one in committed if _holds(one, place, read.last)), None)


def _judge_epoch_ends(story: PartitionStory) -> Iterator[Claim]:
    """Judge that the end offset in OffsetForLeaderEpoch is above each record of the epoch that a consumer got, unless the log
    start may have passed that record."""
    leadership, damage = story.derive(Leadership), story.derive(ReplicaDamage)
    permitted, starts = story.derive(PermittedLosses), story.derive(LogStarts)
    for end in story.epoch_ends:
        asked = end.asked_epoch >= 0 and leadership.is_from_leader(end)
        found = _read_beyond(story, end) if asked else None
        if found is None or starts.highest_explained(end.event) > found[1]:
            continue
        given, offset = found
        since = max(given.cur, end.asked_epoch), given.event
        permission = permitted.between(since, (end.cur, end.event), offset=offset)
        if (excuse := permission or damage.damage_at(end.node, end.event)) is not None:
            yield Excuse(excuse, "lookup")
        else:
            answer = f"{end.node} said that epoch {end.asked_epoch} ends at {end.end}"
            shown = f"{given.node} gave a consumer offset {offset} of it, and {answer}"
            yield Finding(False, "lookup", (given.event, end.event), shown, "false-truncation")


def _read_beyond(story: PartitionStory, end: facts.EpochEndOffset) -> tuple[facts.FetchResult, int] | None:
    """Return the first answer that gave a consumer a record of the epoch at or above this end offset, and the record's offset."""
    for read in takewhile(lambda one: one.event < end.asked, story.reads):
        for batch in read.batches if read.by_consumer and read.cur <= end.cur else ():
            if batch.epoch == end.asked_epoch and end.end <= batch.last < read.high_watermark:
                return read, batch.last
    return None


def _holds(read: facts.FetchResult, offset: int, epoch: int) -> bool:
    return any(batch.epoch == epoch and batch.base <= offset <= batch.last for batch in read.batches)


def _role(story: PartitionStory, answer: facts.FetchResult | facts.ErrorResponse) -> str:
    return "fetch" if story.derive(Leadership).is_from_leader(answer) else "follower"


def _valid_fetches(story: PartitionStory, own_logs: ReplicaLogs) -> Iterator[tuple[str, Finding]]:
    for read, own in _fetches(story, own_logs):
        if _is_valid(own, read.fetch_offset, read.last):
            shown = (
                ""
                if read.diverging is None
                else f"{read.node} holds offset {read.fetch_offset - 1} of epoch {read.last}, and "
                f"{facts.say_divergence(read.diverging)}"
            )
            finding = Finding(read.diverging is None, "fetch", (read.event,), shown, "false-truncation")
            yield _role(story, read), finding


def _lookups(story: PartitionStory, own_logs: ReplicaLogs) -> Iterator[Claim]:
    leadership, damage = story.derive(Leadership), story.derive(ReplicaDamage)
    for end in story.epoch_ends:
        if end.asked_epoch < 0 or not leadership.is_from_leader(end):
            continue
        own = own_logs.log_of_responder(end)
        last = own.last_of_epoch(end.asked_epoch) if own is not None else None
        if last is not None and (left_out := damage.damage_at(end.node, end.event)) is not None:
            yield Excuse(left_out, "lookup")
        elif last is not None:
            shown = (
                ""
                if end.end > last.last
                else f"{end.node} holds {last} and said that epoch {end.asked_epoch} ends at {end.end}"
            )
            yield Finding(end.end > last.last, "lookup", (end.event,), shown, "false-truncation")


def _listed_positions(story: PartitionStory, own_logs: ReplicaLogs) -> Iterator[Finding]:
    """Judge positions that ListOffsets returned.

    The latest offset comes with the leader's epoch, which may be later than that of the record before it and have no entry in the
    leader epoch cache. The answer may then have a lower epoch, but no end below the position.
    """
    listed = {(one.offset, one.epoch): one for one in reversed(story.listed) if one.timestamp >= -2}
    for read, own in _fetches(story, own_logs):
        given = listed.get((read.fetch_offset, read.last))
        before = own.batch_at(read.fetch_offset - 1)
        if given is not None and given.event < read.asked and before is not None and before.epoch < read.last:
            held = read.diverging is None or read.diverging[1] >= read.fetch_offset
            shown = (
                f"{read.node} holds {before}; asked from {read.fetch_offset} after {read.last}, it "
                f"{facts.say_divergence(read.diverging)}"
            )
            yield Finding(held, _role(story, read), (given.event, read.event), shown, "false-truncation")


# --- positions below which the log was truncated


@log_judge("KIP320-FETCH-06", "reads")
def truncation_is_reported(story: PartitionStory) -> Iterator[Claim]:
    """A reader whose LastFetchedEpoch ended below its position in the responding replica's log gets a DivergingEpoch and no
    records."""
    own_logs, leads = story.derive(ReplicaLogs), story.derive(Leadership).is_from_leader
    for read, own in _fetches(story, own_logs):
        why = _why_diverging(story, own, read)
        case = ("floor" if why.startswith("nothing") else "consumer") if leads(read) else "follower"
        if why and (left_out := _need_not_diverge(story, read, case)) is not None:
            yield Excuse(left_out, case)
        elif why:
            shown = f"{read.node} served {read.fetch_offset} after epoch {read.last}, with {why}"
            held = read.diverging is not None and not read.batches
            yield Finding(held, case, (read.event,), shown, "silent-truncation")
    yield from _fetches_of_damaged(story, own_logs, lambda story, read: "consumer" if leads(read) else "follower")


def _why_diverging(story: PartitionStory, own: ReplicaLog, read: facts.FetchResult) -> str:
    """Return the part of the log that shows the divergence, in words; empty if there is none or it is unknown (catalogue, section
    M)."""
    later = own.first_after_epoch(read.last)
    if later is not None and max(later.base, read.log_start) < read.fetch_offset:
        return f"a later epoch below: {later}"
    before = own.batch_at(read.fetch_offset - 1)
    if before is None or read.fetch_offset <= read.log_start:
        return ""
    is_unknown = before.epoch < read.last < read.cur and own.last_of_epoch(read.last) is None
    leads = story.derive(Leadership).is_from_leader(read)
    return f"nothing of that epoch, and {before} before" if is_unknown and leads else ""


def _need_not_diverge(story: PartitionStory, read: facts.FetchResult, case: str) -> Evidence | None:
    """Return the evidence that the log may not match its leader epoch cache: a crash may have set the log start back below the
    first entry, and compaction removes all records of an epoch."""
    starts = story.derive(LogStarts)
    if read.incarnation and starts.may_fall(read.event) and read.log_start < starts.highest_explained(read.event):
        return LOG_START_SET_BACK
    return COMPACTED if case == "floor" and may_be_compacted(story, read.event) else None


@log_judge("KIP320-CONS-02", "reads", "errors")
def out_of_range_is_below_the_log_start(story: PartitionStory) -> Iterator[Claim]:
    """OFFSET_OUT_OF_RANGE comes only for a position below the log start, or for an unknown epoch; a fetch past the log end
    diverges. This holds for requests that name epochs."""
    own_logs, leads = story.derive(ReplicaLogs), story.derive(Leadership).is_from_leader
    for one, own in _out_of_range(story, own_logs):
        shown = f"{one.node} called offset {one.position} after epoch {one.last} out of range; its log starts at {own.start}"
        known = leads(one) or (bool(own.held) and own.held[-1].epoch >= one.last)
        if one.position < own.low or (leads(one) and one.last > one.cur):
            yield Finding(True, "range-error", (one.event,))
        elif known and 0 <= own.end < one.position:
            yield Finding(False, "past-end", (one.event,), f"{shown} and ends at {own.end}")
        elif known and 0 <= own.start <= one.position:
            yield Finding(False, "range-error", (one.event,), shown)
    for read, own in _fetches(story, own_logs):
        of_newest = read.diverging is not None and read.diverging[0] == read.cur and leads(read)
        if of_newest or 0 <= own.end < read.fetch_offset:
            shown = f"{read.node} served {read.fetch_offset} after epoch {read.last}, its log ends at {own.end}"
            yield Finding(read.diverging is not None, "past-end", (read.event,), shown, "silent-truncation")
    yield from _fetches_of_damaged(story, own_logs, lambda *_: "past-end")
