"""Reads stop at their bound (GEN-17), which is the high watermark, or with read_committed the last stable offset; then they omit
aborted records."""

from bisect import bisect_left
from collections.abc import Iterator

from conformance.judging.excuses import RISEN
from conformance.judging.facts.log import READ_COMMITTED, FetchResult, ReplicaBatch
from conformance.judging.judge import Claim, Excuse, Finding
from conformance.judging.log.consumer_reads import ConsumerRead, ConsumerReads
from conformance.judging.log.story import PartitionStory, log_judge
from protocol.words import say


@log_judge("GEN-17", "reads")
def consumers_stop_at_their_bound(story: PartitionStory) -> Iterator[Claim]:
    """A consumer gets no record at or above the high watermark, and with read_committed no unstable or aborted record."""
    ends = story.derive(Aborts)
    known: set[tuple[object, ...]] = set()
    for one in story.derive(ConsumerReads).all_reads:
        if one.may_have_raced:
            yield Excuse(RISEN, one.role or "leader")
            continue
        if one.uncommitted_records or _reads_more(one, known):
            yield from (
                Finding(not one.uncommitted_records, case, one.shown_by, one.uncommitted_records, "uncommitted-read")
                for case in _cases(one)
            )
        if one.read.isolation_level == READ_COMMITTED:
            yield from _stable(one.read)
            yield from _judge_aborted(one.read, ends)


def _reads_more(one: ConsumerRead, known: set[tuple[object, ...]]) -> bool:
    """True unless the read repeats an earlier one up to the same high watermark."""
    read = one.read
    key = (read.node, one.role, read.high_watermark, one.uncommitted, read.fetch_offset > read.log_start)
    news = bool(read.batches) and key not in known
    known.add(key)
    return news


def _cases(one: ConsumerRead) -> Iterator[str]:
    if one.role or one.uncommitted_records:
        yield one.role or "leader"
    if one.uncommitted:
        yield "uncommitted"
    if one.read.fetch_offset > one.read.log_start:
        yield "start-offset"


def _stable(read: FetchResult) -> Iterator[Finding]:
    stable = read.last_stable_offset
    if 0 <= stable < read.high_watermark:
        beyond = next((batch for batch in read.batches if batch.last >= stable), None)
        shown = f"{read.node} gave read_committed {say(beyond)} with the last stable offset {stable}"
        yield Finding(beyond is None, "open-transaction", (read.event,), shown, "unstable-read")


# --- aborted transactions


class Aborts:
    """The outcomes of each producer's transactions in one log, from the control records that were read."""

    def __init__(self, story: PartitionStory) -> None:
        found: dict[int, dict[int, bool]] = {}
        for batch, _ in story.batches:
            if batch.marker is not None:
                found.setdefault(batch.producer_id, {})[batch.marker.offset] = batch.marker.committed
        self._ends = {producer: sorted(ends.items()) for producer, ends in found.items()}
        self._nexts = _ends_of_runs({(batch.base, batch.last) for batch, _ in story.batches}) if self else {}

    def __bool__(self) -> bool:
        return any(not committed for ends in self._ends.values() for _, committed in ends)

    def is_aborted(self, batch: ReplicaBatch) -> bool:
        """True if the transaction of this batch was aborted, and the whole log between batch and marker was read."""
        ends = self._ends.get(batch.producer_id, []) if batch.transactional and batch.marker is None else []
        place = bisect_left(ends, batch.last, key=lambda end: end[0])
        return place < len(ends) and not ends[place][1] and ends[place][0] <= self._nexts.get(batch.base, -1)


def _ends_of_runs(batches: set[tuple[int, int]]) -> dict[int, int]:
    """Return, by base offset, the last offset of the gapless run of batches that begins there."""
    ends: dict[int, int] = {}
    for base, last in sorted(batches, reverse=True):
        ends[base] = max(last, ends.get(last + 1, last), ends.get(base, last))
    return ends


def _judge_aborted(read: FetchResult, ends: Aborts) -> Iterator[Finding]:
    aborted = [batch for batch in read.batches if ends.is_aborted(batch)] if ends else []
    if aborted:
        given = [batch for batch in _without_aborted(read) if batch in aborted]
        shown = f"{read.node} gave read_committed {', '.join(map(str, given))} of an aborted transaction"
        yield Finding(not given, "aborted-transaction", (read.event,), shown, "aborted-read")


def _without_aborted(read: FetchResult) -> list[ReplicaBatch]:
    """Return the batches that remain when AbortedTransactions are filtered as the Java consumer does (CompletedFetch)."""
    waiting = sorted(read.aborted_transactions, key=lambda one: one[1])
    aborting: set[int] = set()
    left: list[ReplicaBatch] = []
    for batch in read.batches:
        while waiting and waiting[0][1] <= batch.last:
            aborting.add(waiting.pop(0)[0])
        if batch.marker is not None and not batch.marker.committed:
            aborting.discard(batch.producer_id)
        elif batch.marker is None and not (batch.transactional and batch.producer_id in aborting):
            left.append(batch)
    return left
