"""Transactions are all or nothing, and none dangles (KIP360-INV-06, -07)."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judging.excuses import UNSTABLE_OFFSETS
from conformance.judging.facts.exchange import NONE
from conformance.judging.facts.groups import FetchedOffset, OffsetCommit
from conformance.judging.facts.log import FetchResult, ProduceResult
from conformance.judging.facts.transactions import TransactionDescription
from conformance.judging.judge import Claim, Excuse, Finding, joint_judge
from conformance.judging.log.log_starts import LogStarts
from conformance.judging.log.story import PartitionStory
from conformance.judging.producers.fencing import BUMPED_BY_FENCED
from conformance.judging.producers.logs import Marked, final_read, identity, lost, marked, own_reads, stable_end
from conformance.judging.producers.records import ALL
from conformance.judging.producers.story import TransactionStory
from conformance.judging.producers.transactions import Producers, Transaction, by_partition
from conformance.judging.timeline import NEVER
from conformance.judging.together import Together

ENDED = frozenset(("CompleteCommit", "CompleteAbort", "Empty"))
"""States of a transactional id without an open transaction, in the coordinator's words."""
WORDS = {True: "committed", False: "aborted", None: "without a marker"}

# --- INV-06


@joint_judge("KIP360-INV-06", *ALL)
def all_or_nothing(together: Together) -> Iterator[Claim]:
    """At rest all batches of a transaction have the outcome that EndTxn fixed, or the same one; so have its offsets."""
    producers = together.derived(Producers)
    for transaction in producers.transactions:
        yield from _of_transaction(transaction)
    for partition in together.of(PartitionStory):
        yield from _of_offsets(partition, producers.transactions)


def _of_transaction(transaction: Transaction) -> Iterator[Claim]:
    found: dict[bool | None, tuple[PartitionStory, Marked, FetchResult]] = {}
    for partition, writes in by_partition(transaction.writes).items():
        if (read := final_read(partition)) is not None and read.asked > transaction.last_asked:
            for one in _own(read, writes):
                found.setdefault(_outcome(one), (partition, one, read))
    if not found:
        return
    ended = transaction.ended
    wanted = (
        {ended.committed} if ended is not None else {True} if True in found else {False} if False in found else {None}
    )
    wrong = sorted({*found} - wanted, key=str)
    case, shown = transaction.story.dialect, _shown(transaction, found)
    by = (*([ended.event] if ended else []), *(read.event for _, _, read in found.values()))
    if wrong and (excuse := _excuse(transaction, found)):
        yield Excuse(excuse, case)
    elif ended is not None or len(found) > 1 or None not in found:
        yield Finding(
            not wrong, case, by, shown if wrong else "", "split-outcome" if ended is None else "other-outcome"
        )


def _own(read: FetchResult, writes: list[ProduceResult]) -> Iterator[Marked]:
    wanted = {identity(one) for one in writes}
    yield from (one for one in marked(read) if identity(one.batch) in wanted)


def _outcome(one: Marked) -> bool | None:
    return one.end.marker.committed if one.end is not None and one.end.marker is not None else None


def _shown(transaction: Transaction, found: dict[bool | None, tuple[PartitionStory, Marked, FetchResult]]) -> str:
    ended = transaction.ended
    answered = (
        f"EndTxn {'committed' if ended.committed else 'aborted'}" if ended else "no EndTxn was answered with success"
    )
    places = ", ".join(f"{one.batch} of {story.name} is {WORDS[how]}" for how, (story, one, _) in found.items())
    return f"{transaction}: {answered}; {places}"


def _excuse(transaction: Transaction, found: dict[bool | None, tuple[PartitionStory, Marked, FetchResult]]) -> str:
    if transaction.story.bumped_by_fenced:
        return BUMPED_BY_FENCED
    return next(filter(None, (lost(story, read) for story, _, read in found.values())), "")


InTransaction = tuple[Transaction, OffsetCommit]


def _of_offsets(partition: PartitionStory, transactions: list[Transaction]) -> Iterator[Claim]:
    """The offset that is shown at rest is the last one that was written in a transaction that was committed."""
    seen = sorted((one for one in partition.committed if partition.at_rest(one)), key=lambda one: one.stable)
    groups = {one.group: one for one in seen}
    own = [(t, one) for t in transactions for one in t.offsets if f"{one.topic}-{one.partition}" == partition.name]
    for group, shown in groups.items():
        mine = [(t, one) for t, one in own if one.group == group]
        plain = any(one.group == group and one.transactional_id is None for one in partition.commits)
        if mine and not plain:
            yield from _offset(partition, shown, mine)


def _offset(partition: PartitionStory, shown: FetchedOffset, own: list[InTransaction]) -> Iterator[Claim]:
    # The offset that was written last stays, in whatever order the markers come.
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
    elif not shown.stable:
        yield Excuse(UNSTABLE_OFFSETS, case)
    elif shown.offset not in open_:
        trouble = f"{partition.name} shows offset {shown.offset}, {wanted} was committed last"
        yield Finding(False, case, by, trouble, "lost-offset")


# --- INV-07


@joint_judge("KIP360-INV-07", *ALL)
def no_transaction_dangles(together: Together) -> Iterator[Claim]:
    """The last stable offset stays below open transactions, and moves on; at rest no ended transaction is open anywhere."""
    producers = together.derived(Producers)
    for transaction in producers.transactions:
        yield from _not_past(transaction)
    for partition in producers.partitions:
        yield from _moves_on(partition)
    for story in together.of(TransactionStory):
        yield from _dangling(story, producers)


def _not_past(transaction: Transaction) -> Iterator[Claim]:
    """No read between an acknowledged write and the first request that may end the transaction shows more as stable."""
    until = _open_until(transaction)
    for partition, writes in by_partition(transaction.writes).items():
        if (first := next((one for one in writes if one.committed), None)) is not None:
            reads = [read for read in partition.reads if first.event < read.asked and read.event < until]
            yield from _stays_below(transaction, partition, first, reads)


def _stays_below(
    transaction: Transaction, partition: PartitionStory, first: ProduceResult, reads: list[FetchResult]
) -> Iterator[Claim]:
    case, starts = "last-stable-offset", partition.derived(LogStarts)
    past = [one for one in reads if one.last_stable_offset > first.offset and starts.bound(one.event) <= first.offset]
    for read in past[:1]:
        if excuse := lost(partition, read):
            yield Excuse(excuse, case)
            continue
        shown = f"{read.node} shows {read.last_stable_offset} as stable, {transaction} is open from {first.offset} on"
        yield Finding(False, case, (first.event, read.event), shown, "past-open-transaction")
    if reads and not past:
        yield Finding(True, case, (first.event, reads[-1].event))


def _open_until(transaction: Transaction) -> int:
    """The first event that may have ended it: EndTxn, InitProducerId of any instance, or its time-out."""
    story = transaction.story
    ends = [end.asked for end in (*transaction.attempts, *([transaction.ended] if transaction.ended else []))]
    inits = [one.asked for one in story.given if one.asked > transaction.began]
    allowed = min((one.timeout_ms for one in story.given), default=0) / 1000
    over = story.timeline.time(min(transaction.began, transaction.started)) + allowed
    late = (
        read.asked
        for write in transaction.writes
        for read in write.partition.reads
        if story.timeline.time(read.event) > over
    )
    return min([*ends, *inits, *late], default=NEVER)


def _moves_on(partition: PartitionStory) -> Iterator[Claim]:
    """At rest the last stable offset is what the log itself says."""
    for read in [one for one in own_reads(partition) if partition.at_rest(one)][-1:]:
        wanted = stable_end(read)
        if any(batch.transactional for batch in read.batches):
            shown = f"{read.node} shows {read.last_stable_offset} as stable, its log says {wanted}"
            yield Finding(read.last_stable_offset == wanted, "last-stable-offset", (read.event,), shown, "stuck-offset")


def _dangling(story: TransactionStory, producers: Producers) -> Iterator[Claim]:
    described = next((one for one in reversed(story.described) if _at_rest(story, one)), None)
    if described is None or described.error != NONE or described.state not in ENDED:
        return
    ids = {one.producer_id for one in story.answers}
    for partition in producers.partitions:
        for known in [one for one in partition.described_producers if partition.at_rest(one)]:
            own = [one for one in known.producers if one.producer_id in ids]
            dangling = [one for one in own if one.transaction_start >= 0]
            if dangling and (excuse := lost(partition, known) or (BUMPED_BY_FENCED if story.bumped_by_fenced else "")):
                yield Excuse(excuse, "no-dangling")
            elif own:
                shown = "".join(_open(partition, known.node, one.transaction_start, described) for one in dangling[:1])
                yield Finding(
                    not dangling, "no-dangling", (described.event, known.event), shown, "dangling-transaction"
                )


def _open(partition: PartitionStory, node: str, start: int, described: TransactionDescription) -> str:
    return (
        f"{described.transactional_id} is {described.state}, and {node} describes a transaction of producer "
        f"{described.producer_id} on {partition.name} as open from offset {start} on"
    )


def _at_rest(story: TransactionStory, one: TransactionDescription) -> bool:
    return 0 <= story.timeline.rest < one.asked
