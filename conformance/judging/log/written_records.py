"""Every record that is read was written (GEN-16): it was sent, appears once and intact, and stays in its leader's log."""

from base64 import b64decode
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from conformance.judging import excuses
from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.groups import ConsumedRecord
from conformance.judging.facts.log import FetchResult, ProduceResult, ReplicaBatch
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.damage import ReplicaDamage
from conformance.judging.log.known_epochs import KnownEpochs
from conformance.judging.log.leadership import Leadership
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.log.producer_state import forgotten_between
from conformance.judging.log.responding_replica import IncarnationAtEpoch
from conformance.judging.log.settings import may_be_compacted
from conformance.judging.log.story import PartitionStory, log_judge
from conformance.judging.record_values import value_in_words
from protocol.words import say

CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
"""The cases of compressed batches, by the codec in their attributes."""
SEQUENCES = 1 << 31
"""Sequences wrap around to 0 after the last one."""


@log_judge("GEN-16", "reads", "consumed", "doubted")
def every_record_read_was_written(story: PartitionStory) -> Iterator[Claim]:
    """Every record that is read was sent at least as often as it appears; batches are intact; a leader's log never shrinks."""
    yield from _judge_reads(story)
    yield from _leader_keeps_all(story)
    yield from _judge_deliveries(story)


@log_judge("GEN-16")
def every_fact_is_looked_at(story: PartitionStory) -> Iterator[Excuse]:
    """Count the facts that no judge looks at: those of a topic that may be deleted, and those after a quorum lost its state."""
    yield from [Excuse(excuses.TOPIC_DOUBTED, "leader")] * story.doubted
    yield from [Excuse(excuses.QUORUM_STATE_LOST, "leader")] * story.left_out


# --- records that are read


class LogRecord(NamedTuple):
    """A record as sent or as read. Producer id, epoch and sequence are -1 unless an idempotent producer sent it."""

    value: bytes | None
    producer_id: int
    producer_epoch: int
    sequence: int


def _record(of: ReplicaBatch | ProduceResult, place: int, value: bytes | None) -> LogRecord:
    """Return the record at a place in a batch. Controllers' records have sequences but no producer id."""
    if of.producer_id < 0 or of.base_sequence < 0:
        return LogRecord(value, -1, -1, -1)
    return LogRecord(value, of.producer_id, of.producer_epoch, (of.base_sequence + place) % SEQUENCES)


def _records(batch: ReplicaBatch) -> Iterator[tuple[int, LogRecord]]:
    """Yield the records with a value, each with its offset."""
    for offset, value in batch.records:
        if value is not None:
            yield offset, _record(batch, offset - batch.base, value)


class SentRecords:
    """The requests that sent each record, including those of earlier examples, and the event from which others may have appended
    to the log."""

    def __init__(self, story: PartitionStory) -> None:
        self._story = story
        self._leadership = story.derive(Leadership)
        self._before = {b64decode(value): times for value, times in (story.sent_before or {}).items()}
        self._asked: dict[LogRecord, list[int]] = {}
        self._acknowledged: dict[tuple[int, LogRecord], set[str]] = {}
        self._of_batch: dict[ReplicaBatch, list[tuple[int, LogRecord]]] = {}
        for write in story.produced:
            for place, value in enumerate(write.values):
                record = _record(write, place, value)
                self._asked.setdefault(record, []).append(write.asked)
                if write.error == NONE and write.offset >= 0:
                    self._acknowledged.setdefault((write.offset + place, record), set()).add(write.node)
        opaque = min((write.asked for write in story.produced if write.opaque), default=inf)
        self.known_until = min(opaque, story.derive(ReplicaDamage).appended_since)

    def times_sent(self, record: LogRecord, event: int) -> int:
        return self._before.get(record.value or b"", 0) + bisect_left(self._asked.get(record, []), event)

    def records(self, batch: ReplicaBatch) -> list[tuple[int, LogRecord]]:
        """Return the records of a batch with a value, each with its offset; computed once for each batch."""
        found = self._of_batch.get(batch)
        if found is None:
            found = self._of_batch[batch] = [*_records(batch)]
        return found

    def unsent(self, read: FetchResult, batch: ReplicaBatch) -> str:
        for offset, record in self.records(batch):
            if not self.times_sent(record, read.event):
                return f"{read.node} returned {value_in_words(record.value)} at offset {offset}, which no request sent"
        return ""

    def known_from(self, read: FetchResult) -> float:
        """Return the offset from which every record was sent by a known request; a log is in append order."""
        if self._story.is_known_from_start or (self._story.sent_before is not None and not self._story.is_internal):
            return 0
        own = (
            offset
            for batch in read.batches
            for offset, record in self.records(batch)
            if self._is_own(batch, offset, record)
        )
        return next(own, inf)

    def _is_own(self, batch: ReplicaBatch, offset: int, record: LogRecord) -> bool:
        """True if the record was acknowledged at this offset by the leader of its epoch."""
        leader = self._leadership.leaders.get(batch.epoch)
        return leader is not None and leader in self._acknowledged.get((offset, record), ())


def _judge_reads(story: PartitionStory) -> Iterator[Claim]:
    """Judge the batches of each read that no earlier read in the same role has shown."""
    sent = story.derive(SentRecords)
    known: dict[str, set[ReplicaBatch]] = {}
    for read in story.reads:
        role = _role(story, read)
        seen = known.setdefault(role, set())
        new = [batch for batch in read.batches if batch not in seen]
        seen.update(new)
        if new:
            yield from _judge_read(story, sent, read, role, new)


def _judge_read(
    story: PartitionStory, sent: SentRecords, read: FetchResult, role: str, new: list[ReplicaBatch]
) -> Iterator[Claim]:
    wrong, low = _wrong_crc(read, new), sent.known_from(read)
    if wrong and story.derive(ReplicaDamage).is_corrupt(read.event):
        yield Excuse(excuses.BYTES_FLIPPED, role)
        wrong = ""
    again = _repeated_sequence(story, read) if not wrong else None
    if again is not None and story.is_known_from_start and (excuse := forgotten_between(story, read, *again)):
        yield Excuse(excuse, role)
    elif again is not None:
        wrong = _repetition_in_words(read, *again)
    before = [batch for batch in new if batch.base < low and sent.unsent(read, batch)]
    rest = [batch for batch in new if batch not in before]
    unsent = next(filter(None, (sent.unsent(read, batch) for batch in rest)), "") or _repeated_record(sent, read, low)
    if before and not wrong:
        yield Excuse(excuses.WRITTEN_BY_CLUSTER if story.is_internal else excuses.WRITTEN_BEFORE, role)
    if unsent and not wrong and sent.known_until < read.event:
        yield Excuse(
            excuses.APPENDED_BY_FAULT if story.derive(ReplicaDamage).appended_since < inf else excuses.SENT_AS_BYTES,
            role,
        )
    elif wrong or rest:
        for case in (role, *sorted({CODECS[batch.codec] for batch in rest if batch.codec in CODECS})):
            yield Finding(not (wrong or unsent), case, (read.event,), wrong or unsent, "never-written")


def _role(story: PartitionStory, read: FetchResult) -> str:
    return "consumer" if read.by_consumer else story.derive(Leadership).role_of(read) or "follower"


def _wrong_crc(read: FetchResult, new: list[ReplicaBatch]) -> str:
    found = next((batch for batch in new if not batch.valid), None)
    return f"{read.node} returned {found} with a wrong CRC" if found is not None else ""


def _repeated_sequence(story: PartitionStory, read: FetchResult) -> tuple[ReplicaBatch, ReplicaBatch] | None:
    """Return two batches of one producer and epoch that share a sequence; None without any. Brokers remember a producer's
    sequences for a day.

    A coordinator writes the offsets of a producer's transaction itself, in batches that all begin at sequence 0.
    """
    seen: dict[tuple[int, int, int], ReplicaBatch] = {}
    for batch in read.batches:
        of_coordinator = story.is_internal and batch.base_sequence == 0
        if batch.producer_id < 0 or batch.base_sequence < 0 or of_coordinator:
            continue
        for place in range(batch.last - batch.base + 1):
            sequence = (batch.base_sequence + place) % SEQUENCES
            known = seen.setdefault((batch.producer_id, batch.producer_epoch, sequence), batch)
            if known is not batch:
                return known, batch
    return None


def _repetition_in_words(read: FetchResult, first: ReplicaBatch, second: ReplicaBatch) -> str:
    by = f"sequence {second.base_sequence} of producer {second.producer_id}, epoch {second.producer_epoch}"
    return f"{read.node} returned {by} in {first} and in {second}"


def _repeated_record(sent: SentRecords, read: FetchResult, low: float) -> str:
    """Describe a record without a sequence that a read shows, from an offset on, more often than it was sent; empty without
    one."""
    records = (each for batch in read.batches for each in sent.records(batch))
    above = [one for offset, one in records if offset >= low and one.sequence < 0]
    for one, found in Counter(above).items() if len({*above}) < len(above) else ():
        if 0 < sent.times_sent(one, read.event) < found:
            times = sent.times_sent(one, read.event)
            return f"{read.node} returned {value_in_words(one.value)} {found} times, sent {times} times"
    return ""


# --- a leader's own log


def _leader_keeps_all(story: PartitionStory) -> Iterator[Claim]:
    """Judge that a leader, within one process and epoch, keeps all records that it had or acknowledged at or above the log
    start."""
    last: dict[IncarnationAtEpoch, FetchResult] = {}
    starts, damage = story.derive(LogStarts), story.derive(ReplicaDamage)
    for read in (read for read in story.derive(Leadership).leader_reads if read.full):
        life = (read.node, read.incarnation, read.cur)
        before, last[life] = last.get(life), read
        if may_be_compacted(story, read.event) or damage.damage_at(read.node, read.event) is not None:
            if before is not None:
                yield Excuse(damage.damage_at(read.node, read.event) or excuses.COMPACTED, "leader")
            continue
        low = min(read.log_start, starts.highest_explained(read.event))
        had = [batch for batch in before.batches if batch.last >= low] if before is not None else []
        gone = ", ".join(str(batch) for batch in had if batch not in set(read.batches)) or _first_lost_record(
            story, before, read, low
        )
        if before is not None or gone:
            shown = f"{read.node} had {gone}, and has it no more at epoch {read.cur}"
            by = (read.event,) if before is None else (before.event, read.event)
            yield Finding(not gone, "leader", by, shown if gone else "", "leader-log-shrank")


def _first_lost_record(story: PartitionStory, before: FetchResult | None, read: FetchResult, low: float) -> str:
    """Describe the first record that the leader acknowledged since its last full read but lacks; empty without one."""
    since = before.event if before is not None else -1
    for write in story.produced:
        own = (write.node, write.incarnation, write.error) == (read.node, read.incarnation, NONE)
        if (
            own
            and since < write.asked
            and write.event < read.asked
            and write.offset >= low
            and _was_appended_at(story, write, read.cur)
        ):
            for offset, value in enumerate(write.values, write.offset):
                if value is not None and read.value_at(offset) != value:
                    return f"acknowledged {value_in_words(value)} at offset {offset}"
    return ""


def _was_appended_at(story: PartitionStory, write: ProduceResult, epoch: int) -> bool:
    """True if the write was certainly appended at this epoch. A leader that does not know of its own re-election may append at an
    older one."""
    began = 0 <= story.derive(Leadership).first_named(epoch) < write.asked
    return began and (epoch == 0 or bool(story.derive(KnownEpochs).event_at_epoch(write, epoch)))


# --- records that a consumer is handed


def _judge_deliveries(story: PartitionStory) -> Iterator[Claim]:
    """Judge that within one assignment offsets rise, and no record that stays in the log is skipped."""
    last: dict[tuple[str, int], ConsumedRecord] = {}
    stay = _lasting_offsets(story) if story.consumed else []
    starts = story.derive(LogStarts)
    for one in story.consumed:
        before, last[one.consumer, one.session] = last.get((one.consumer, one.session)), one
        if before is None:
            continue
        if may_be_compacted(story, one.event):
            yield Excuse(excuses.COMPACTED, "consumer")
            continue
        wrong = _step(before, one, stay, starts.highest_explained(one.event))
        if wrong and (why := _excuse(story, before, one, stay)):
            yield Excuse(why, "consumer")
        else:
            yield Finding(not wrong, "consumer", (before.event, one.event), wrong, "poll-skip")


def _lasting_offsets(story: PartitionStory) -> list[int]:
    """Return the offsets of records that were acknowledged with acks=all, or that are in the last full read of a leader."""
    found = {offset for w in story.produced if w.is_committed for offset, _ in enumerate(w.values, w.offset)}
    own = [read for read in story.derive(Leadership).leader_reads if read.full]
    found |= {offset for read in own[-1:] for batch in read.batches for offset, _ in batch.records}
    return sorted(found)


def _step(before: ConsumedRecord, one: ConsumedRecord, stay: list[int], start: float) -> str:
    if one.offset <= before.offset:
        return f"{one.consumer} was handed {before.offset}, then {one.offset}"
    skipped = stay[bisect_left(stay, max(before.offset + 1, start)) : bisect_left(stay, one.offset)]
    return f"{one.consumer} was handed {before.offset}, then {one.offset}, and never {say(skipped)}" if skipped else ""


def _excuse(
    story: PartitionStory, before: ConsumedRecord, one: ConsumedRecord, stay: list[int]
) -> excuses.Evidence | None:
    """Return the evidence of a permitted loss, or of a rebalance after which a member resumed from a committed offset; None
    without any.

    A consumer may have fetched a record long before it delivers it, so any loss since that record's epoch may be the reason.
    """
    fetched_at = min((known.epoch, known.event) for known in (before, one))
    newest = story.derive(Leadership).newest_epoch_before(one.event)
    now, offset = (newest, one.event), max(before.offset, one.offset)
    if (permission := story.derive(PermittedLosses).between(fetched_at, now, offset=offset)) is not None:
        return permission
    rebalanced = one.group is not None and one.assignments > before.assignments
    return excuses.ASSIGNED_AGAIN if rebalanced and _begins_at_a_commit(story, before, one, stay) else None


def _begins_at_a_commit(story: PartitionStory, before: ConsumedRecord, one: ConsumedRecord, stay: list[int]) -> bool:
    """True if the consumer may have resumed from a committed offset: the record is delivered again, or no record from a committed
    offset on is skipped."""
    own = (commit.offset for commit in story.commits if commit.group == one.group and commit.asked < one.event)
    skipped = (bisect_left(stay, offset) == bisect_left(stay, one.offset) for offset in own if offset <= one.offset)
    return one.offset <= before.offset or any(skipped)
