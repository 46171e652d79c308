"""Transactions are atomic, and none hangs (KIP360-INV-06, -07)."""

from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from conformance.judging import excuses
from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.groups import FetchedOffset, OffsetCommitResult
from conformance.judging.facts.log import FetchResult, ProduceResult, ReplicaBatch
from conformance.judging.facts.transactions import DescribedProducers, TransactionDescription
from conformance.judging.judge import Claim, Excuse, Finding, joint_judge
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.producer_state import may_be_lost
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers import logs
from conformance.judging.producers.records import ALL
from conformance.judging.producers.story import TransactionStory
from conformance.judging.producers.transactions import Producers, Transaction, by_partition
from conformance.judging.timeline import NEVER
from conformance.judging.together import Together
from protocol.transactions import ProducerState

ENDED = frozenset(("CompleteCommit", "CompleteAbort", "Empty"))
"""States of a transactional id without an open transaction, in the coordinator's words."""
MARKER_TIMEOUT = 30.0
"""Seconds that a healed cluster has to write the markers of a decided transaction (KIP360-INV-06)."""
WORDS = {True: "committed", False: "aborted", None: "without a marker"}

# --- INV-06


@joint_judge("KIP360-INV-06", *ALL)
def transactions_are_atomic(together: Together) -> Iterator[Claim]:
    """At rest all batches and offsets of a transaction have the outcome of its EndTxn, or all the same outcome if no EndTxn was
    acknowledged."""
    producers = together.derive(Producers)
    for transaction in producers.transactions:
        for partition in by_partition(transaction.writes):
            yield from logs.left_out_of_compacted(partition, (transaction.story.dialect,))
        yield from _judge_transaction(transaction)
    for partition in together.stories_of(PartitionStory):
        yield from _judge_offsets(partition, producers.transactions)


class _Outcome(NamedTuple):
    """A batch of a transaction in a leader's log at rest, and whether its marker commits; None without a marker."""

    partition: PartitionStory
    read: FetchResult
    batch: ReplicaBatch
    committed: bool | None

    def __str__(self) -> str:
        return f"{self.batch} of {self.partition.name} is {WORDS[self.committed]}"


def _judge_transaction(transaction: Transaction) -> Iterator[Claim]:
    """Judge the batches of a transaction. If no EndTxn succeeded, only two batches that differ violate the row."""
    found, ended = [*_outcomes(transaction)], transaction.ended
    hows = {one.committed for one in found}
    if not found or (ended is None and (len(found) < 2 or hows == {None})):
        return
    broken = hows != {ended.committed} if ended is not None else len(hows) > 1
    case, label = transaction.story.dialect, "split-outcome" if ended is None else "other-outcome"
    if broken and (excuse := _excuse(transaction, found)):
        yield Excuse(excuse, case)
        return
    by = (*([ended.event] if ended is not None else []), *sorted({one.read.event for one in found}))
    yield Finding(not broken, case, by, _outcomes_in_words(transaction, found) if broken else "", label)


def _outcomes(transaction: Transaction) -> Iterator[_Outcome]:
    for partition, writes in by_partition(transaction.writes).items():
        read, wanted = logs.final_read(partition), {logs.batch_identity(one) for one in writes}
        if read is not None and read.asked > transaction.last_asked:
            own = (one for one in logs.pair_with_markers(read) if logs.batch_identity(one.batch) in wanted)
            yield from (_Outcome(partition, read, one.batch, one.commits) for one in own)


def _outcomes_in_words(transaction: Transaction, found: list[_Outcome]) -> str:
    """Describe the violation, with one batch of each outcome."""
    ended = transaction.ended
    how = "no EndTxn was answered with success"
    if ended is not None:
        how = f"EndTxn {'committed' if ended.committed else 'aborted'}"
    places = {one.committed: str(one) for one in found}
    return f"{transaction}: {how}; {', '.join(places.values())}"


def _excuse(transaction: Transaction, found: list[_Outcome]) -> excuses.Evidence | None:
    if transaction.story.bumped_by_fenced(transaction.opened_at, max(one.read.event for one in found)):
        return excuses.BUMPED_BY_FENCED
    if any(one.committed is None and _takes_no_markers(one) for one in found):
        return excuses.TOO_FEW_REPLICAS
    since = transaction.first_asked
    permitted = (may_be_lost(one.partition, logs.moment_of_event(one.partition, since), one.read) for one in found)
    return next(filter(None, permitted), None)


OffsetInTransaction = tuple[Transaction, OffsetCommitResult]


def _judge_offsets(partition: PartitionStory, transactions: list[Transaction]) -> Iterator[Claim]:
    """Judge that the offset at rest is the last one written in a committed transaction."""
    seen = sorted((one for one in partition.committed if partition.is_at_rest(one)), key=lambda one: one.stable)
    groups = {one.group: one for one in seen}
    own = [(t, one) for t in transactions for one in t.offsets if f"{one.topic}-{one.partition}" == partition.name]
    for group, shown in groups.items():
        mine = [(t, one) for t, one in own if one.group == group]
        plain = any(one.group == group and one.transactional_id is None for one in partition.commits)
        if mine and not plain:
            yield from _offset(partition, shown, mine)


def _offset(partition: PartitionStory, shown: FetchedOffset, own: list[OffsetInTransaction]) -> Iterator[Claim]:
    # The offset that was written last remains, in whatever order the markers come.
    done = sorted((one.event, one.offset) for t, one in own if t.ended and t.ended.committed and one.accepted == NONE)
    open_ = {one.offset for t, one in own if t.ended is None or one.accepted != NONE}
    aborted = (
        {one.offset for t, one in own if t.ended and not t.ended.committed} - {offset for _, offset in done} - open_
    )
    last, wanted = done[-1] if done else (shown.asked, -1)
    case, by = own[-1][0].story.dialect, (last, shown.event)
    if shown.offset in aborted:
        trouble = f"{partition.name} shows offset {shown.offset} of an aborted transaction"
        yield Finding(False, case, by, trouble, "aborted-offset")
    elif shown.offset == wanted:
        yield Finding(True, case, by)
    elif not shown.stable and partition.timeline.may_be_loading(last, shown.event):
        yield Excuse(excuses.UNSTABLE_OFFSETS, case)
    elif shown.offset not in open_:
        trouble = f"{partition.name} shows offset {shown.offset}, {wanted} was committed last"
        yield Finding(False, case, by, trouble, "lost-offset")


# --- INV-07


@joint_judge("KIP360-INV-07", *ALL)
def no_transaction_hangs(together: Together) -> Iterator[Claim]:
    """The last stable offset stays below open transactions, and advances when they end; at rest no ended transaction is open
    anywhere."""
    producers = together.derive(Producers)
    for transaction in producers.transactions:
        yield from _judge_open_writes(transaction)
    for partition in producers.partitions:
        yield from _judge_stable_offset(partition)
    for story in together.stories_of(TransactionStory):
        yield from _judge_dangling(story, producers)
        yield from _judge_completion(story, producers)


def _judge_open_writes(transaction: Transaction) -> Iterator[Claim]:
    """Judge that the last stable offset does not pass an acknowledged write before the first request that may end its
    transaction."""
    until = _first_possible_end(transaction)
    for partition, writes in by_partition(transaction.writes).items():
        if (first := next((one for one in writes if one.is_committed), None)) is not None:
            reads = [read for read in partition.reads if first.event < read.asked and read.event < until]
            yield from _stays_below(transaction, partition, first, reads)


def _stays_below(
    transaction: Transaction, partition: PartitionStory, first: ProduceResult, reads: list[FetchResult]
) -> Iterator[Claim]:
    case, starts = "last-stable-offset", partition.derive(LogStarts)
    past = [
        one
        for one in reads
        if one.last_stable_offset > first.offset and starts.highest_explained(one.event) <= first.offset
    ]
    for read in past[:1]:
        if excuse := may_be_lost(partition, logs.moment_of_event(partition, first.asked), read):
            yield Excuse(excuse, case)
            continue
        shown = f"{read.node} shows {read.last_stable_offset} as stable, {transaction} is open from {first.offset} on"
        yield Finding(False, case, (first.event, read.event), shown, "past-open-transaction")
    if reads and not past:
        yield Finding(True, case, (first.event, reads[-1].event))


def _first_possible_end(transaction: Transaction) -> int:
    """Return the first event that may have ended a transaction: EndTxn, any InitProducerId, or its timeout."""
    story = transaction.story
    ends = [end.asked for end in transaction.end_requests]
    inits = [one.asked for one in story.given if one.asked > transaction.first_asked]
    allowed = min((one.timeout_ms for one in story.given), default=0) / 1000
    over = story.timeline.time(min(transaction.first_asked, transaction.opened_at)) + allowed
    late = (
        read.asked
        for write in transaction.writes
        for read in write.partition.reads
        if story.timeline.time(read.event) > over
    )
    return min([*ends, *inits, *late], default=NEVER)


def _judge_stable_offset(partition: PartitionStory) -> Iterator[Claim]:
    """Judge that at rest the last stable offset is the one that follows from the log."""
    yield from logs.left_out_of_compacted(
        partition, ["last-stable-offset"] if any(one.transactional for one in partition.produced) else ()
    )
    for read in [one for one in logs.leader_reads_at_own_epoch(partition) if partition.is_at_rest(one)][-1:]:
        wanted = logs.stable_end(read)
        if any(batch.transactional for batch in read.batches):
            shown = f"{read.node} shows {read.last_stable_offset} as stable, its log says {wanted}"
            yield Finding(read.last_stable_offset == wanted, "last-stable-offset", (read.event,), shown, "stuck-offset")


def _judge_completion(story: TransactionStory, producers: Producers) -> Iterator[Claim]:
    """Judge that, with all faults healed, a decided transaction is complete within `MARKER_TIMEOUT`."""
    at_rest = [one for one in story.described if one.error == NONE and _at_rest(story, one)]
    pending = [*takewhile(lambda one: one.state.startswith("Prepare"), reversed(at_rest))]
    if pending:
        last, first = pending[0], pending[-1]
        seconds = story.timeline.time(last.asked) - story.timeline.time(first.event)
        written = producers.written_by(story)
        if seconds >= MARKER_TIMEOUT and any(logs.cannot_take_markers(one, first.event, last.asked) for one in written):
            yield Excuse(excuses.TOO_FEW_REPLICAS, "no-dangling")
        elif seconds >= MARKER_TIMEOUT > story.timeline.watch_time(first.event, last.asked, MARKER_TIMEOUT):
            yield Excuse(excuses.LOOKED_TOO_RARELY, "no-dangling")
        elif seconds >= MARKER_TIMEOUT:
            shown = f"{last.node} describes {story.name} as {last.state}, {seconds:.0f} s after {first.node} as {first.state}"
            yield Finding(False, "no-dangling", (first.event, last.event), shown, "unfinished-transaction")


def _judge_dangling(story: TransactionStory, producers: Producers) -> Iterator[Claim]:
    described = next((one for one in reversed(story.described) if _at_rest(story, one)), None)
    if described is None or described.error != NONE or described.state not in ENDED:
        return
    ids = story.producer_ids
    for partition in producers.partitions:
        for known in [one for one in partition.described_producers if partition.is_at_rest(one)]:
            own = [one for one in known.producers if one.producer_id in ids]
            yield from _judge_end_on(story, partition, known, own, described) if own else ()


def _judge_end_on(
    story: TransactionStory,
    partition: PartitionStory,
    known: DescribedProducers,
    own: list[ProducerState],
    described: TransactionDescription,
) -> Iterator[Claim]:
    dangling = next((one for one in own if one.current_txn_start_offset >= 0), None)
    shown = "" if dangling is None else _open(partition, known.node, dangling.current_txn_start_offset, described)
    if dangling is not None and (
        excuse := _marker_may_be_lost(story, partition, known, dangling.current_txn_start_offset)
    ):
        yield Excuse(excuse, "no-dangling")
    else:
        yield Finding(dangling is None, "no-dangling", (described.event, known.event), shown, "dangling-transaction")


def _takes_no_markers(one: _Outcome) -> bool:
    """True if the partition could take no markers after all faults were healed, or, without faults, after the request."""
    healed = one.partition.timeline.healed
    return logs.cannot_take_markers(one.partition, healed if healed >= 0 else one.read.asked, one.read.event)


def _marker_may_be_lost(
    story: TransactionStory, partition: PartitionStory, known: DescribedProducers, start: int
) -> excuses.Evidence | None:
    """Return the evidence by which the marker after the first batch may be gone; None without any."""
    if story.bumped_by_fenced(-1, known.event):
        return excuses.BUMPED_BY_FENCED
    first = next((batch for batch, _ in partition.batches if batch.base == start), None)
    return None if first is None else may_be_lost(partition, logs.epoch_begin(first), known)


def _open(partition: PartitionStory, node: str, start: int, described: TransactionDescription) -> str:
    return (
        f"{described.transactional_id} is {described.state}, and {node} describes a transaction of producer "
        f"{described.producer_id} on {partition.name} as open from offset {start} on"
    )


def _at_rest(story: TransactionStory, one: TransactionDescription) -> bool:
    return 0 <= story.timeline.rest < one.asked
