"""State that survives a broker restart: the coordinator's transactions and the partitions' producer state."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial, reduce
from typing import NamedTuple

from hypothesis.strategies import booleans, integers, lists

from conformance.core.checks import Claim, Claims, PremiseClaim, all_met, held_if, premise, probe
from conformance.core.damaging import Disk, Snapshots
from conformance.rigs.producers.combined_node import STAGE, Log, Stage, StageProducer
from conformance.rigs.producers.outcomes import MARKER_TIMEOUT, MARKERS, KnownRecords, StableOffsets
from conformance.rigs.producers.sequences import (
    REFUSED,
    SentBatch,
    ends_at,
    fill_log,
    gives_id,
    is_appended,
    join_transaction,
    observe_rollback,
    premise_of_bump,
    premise_of_description,
    premise_of_open_transaction,
)
from fixtures.faults.base.fault import NothingToDamage
from protocol.codes import Error
from protocol.records import Batch, batch
from protocol.transactions import ProducerState
from protocol.words import say
from strategies.inputs import EPOCH_BUMPS

Part = Generator[Claim | None, None, None]
"""A part of the check, as a generator that yields None once, where the broker restarts."""

SIZES = lists(integers(1, 4), min_size=2, max_size=5)
ENDS = lists(booleans(), min_size=2, max_size=4)
"""The outcomes of several transactions: True to commit."""
EPOCHS = integers(0, 100)
KEPT = ("KIP101-INV-05", "kept")
"""The row and case that require a restarted broker to have kept its log."""
SEGMENT_MS = 60_000
BESIDE_SNAPSHOTS = ("older-snapshot", "snapshot-lost", "snapshot-torn", "snapshot-ahead")
"""The cases of KIP360-SEQ-13, by the files on disk beside the log."""
OPEN_MS = 600_000
"""A transaction timeout in milliseconds, longer than any restart, so that no coordinator aborts an open transaction."""
LOGS = 8
"""The number of logs with overlapping transactions."""
WAITS_MS = 1_500
"""A transaction timeout in milliseconds, shorter than a restart, so that it passes without a coordinator."""


def across_a_restart(stage: Stage, parts: list[Part], *, clean: bool) -> Claims:
    """Run each part up to its restart, restart once for all of them, and run the rest of each.

    An unmet premise ends its own part at once, and the example once the other parts are done.
    """
    lost: list[PremiseClaim] = []
    for part in parts:
        yield from up_to_the_restart(part, lost)
    stage.restart(clean=clean)
    for part in parts:
        yield from up_to_the_restart(part, lost)
    yield all_met(lost)


def up_to_the_restart(part: Part, lost: list[PremiseClaim]) -> Claims:
    """Yield the claims of a part until it yields None, ends, or has an unmet premise, which is added to `lost`."""
    for claim in part:
        if claim is None:
            return
        if isinstance(claim, PremiseClaim) and not claim.met:
            part.close()
            lost.append(claim)
            return
        yield claim


def lost_bump(stage: Stage, bumps: int) -> Part:
    """Check INIT-09: the answer to a bump is lost, and the bump is repeated after the restart."""
    producer = stage.idle_transactional("untouched", bumps)
    lost = producer.init(producer.producer_id, producer.epoch)
    yield premise_of_bump(lost, producer)
    yield None
    again = producer.init(producer.producer_id, producer.epoch)
    onwards = producer.init(producer.producer_id, producer.epoch + 1)
    kept = gives_id(again, producer.producer_id, producer.epoch + 1)
    goes_on = gives_id(onwards, producer.producer_id, producer.epoch + 2)
    yield held_if(kept and goes_on, lost, again, onwards, row="KIP360-INIT-09", case="restart")


def deleted_with_a_later_write(stage: Stage, epoch: int, sizes: list[int]) -> Part:
    """Check SEQ-10: another producer appends, then all records of the first one are deleted."""
    producer, log = stage.idempotent(epoch), stage.log()
    sent = fill_log(producer, log, sizes)
    log.delete_all_records()
    log.append(batch(b"later"))
    yield None
    log.await_leader()
    before = log.end()
    kept = before == sum(sizes) + 1 and log.start() == sum(sizes)
    yield premise(kept, "only the later record is left", promised=KEPT)
    again = producer.send(log, sent[-1].batch)
    recognised = is_appended(again, sent[-1].answer.base_offset) and log.end() == before
    yield held_if(recognised, sent[-1].answer, again, row="KIP360-SEQ-10", case="duplicate")
    end = log.end()
    following = producer.send(log, producer.batch(log))
    yield held_if(is_appended(following, end), following, row="KIP360-SEQ-10", case="next")


def entirely_deleted(stage: Stage, epoch: int, sizes: list[int]) -> Part:
    """Check SEQ-11: every record in the log is deleted."""
    producer, log = stage.idempotent(epoch), stage.log()
    newest = fill_log(producer, log, sizes)[-1]
    log.delete_all_records()
    yield None
    log.await_leader()
    yield premise(log.start() == log.end() == sum(sizes), "every record is deleted", promised=KEPT)
    known = log.producer(producer.producer_id)
    again = producer.send(log, newest.batch)
    recognised = is_appended(again, newest.answer.base_offset) and log.end() == sum(sizes)
    detail = f"after the restart the partition knew {say(known)} of the producer"
    yield held_if(recognised, newest.answer, again, row="KIP360-SEQ-11", case="duplicate", detail=detail)


def newest_batch_is_kept(stage: Stage, epoch: int, sizes: list[int]) -> Part:
    """Check SEQ-12: the newest batch is recognised as a duplicate, the one before it recognised or refused."""
    producer, log = stage.idempotent(epoch), stage.log()
    *_, second, newest = fill_log(producer, log, sizes)
    yield None
    log.await_leader()
    yield premise(log.end() == sum(sizes), "every batch is there once", promised=KEPT)
    again = producer.send(log, newest.batch)
    once = is_appended(again, newest.answer.base_offset) and log.end() == sum(sizes)
    yield held_if(once, newest.answer, again, row="KIP360-SEQ-12", case="newest")
    end, older = log.end(), producer.send(log, second.batch)
    answered = older.error is REFUSED or is_appended(older, second.answer.base_offset)
    once = answered and log.end() == end
    row, case = "KIP360-SEQ-12", "second-newest"
    yield held_if(once, second.answer, older, row=row, case=case, variant=older.error.name)


def newest_batch_is_kept_by_an_older_snapshot(stage: Stage, epoch: int, sizes: list[int]) -> Part:
    """Check SEQ-12: the same if the clean shutdown's snapshot is gone, and an older one and the log are left."""
    producer, log = stage.idempotent(epoch), stage.log_with(segment_ms=str(SEGMENT_MS))
    disk = stage.disk(log)
    fill_log(producer, log, sizes)
    older = roll_segment(stage, log)
    second, newest = fill_log(producer, log, sizes[-2:])
    end = log.end()
    found = damaged_while_down(stage, disk, partial(disk.remove_snapshots, above=older))
    yield None
    log.await_leader()
    yield premise(found[-1].offsets[-1:] == (older,), f"the newest snapshot is at {older}: {say(found)}")
    yield premise(log.end() == end, "every batch is there once", promised=KEPT)
    for sent in (newest, second):
        again = producer.send(log, sent.batch)
        answered = is_appended(again, sent.answer.base_offset) or (sent is second and again.error is REFUSED)
        once = answered and log.end() == end
        yield held_if(once, sent.answer, again, row="KIP360-SEQ-12", case="older-snapshot", variant=again.error.name)


def zombie_of_a_forgotten_transaction(stage: Stage, dialect: str, records: int) -> Part:
    """Check TXN-02: a zombie's transaction is aborted, the partition forgets it, and the zombie writes again."""
    zombie, log = stage.transactional(dialect), stage.log()
    zombie.enter(log, records)
    zombie.successor()
    log.delete_all_records()
    yield None
    log.await_leader()
    known, before = log.producer(zombie.producer_id), log.end()
    yield premise(known is None and before == records + 1, f"the partition knows {say(known)}")
    answer = zombie.send(log, zombie.batch(log, sequence=0))
    end, stable_end = log.end(), log.stable_end()
    detail = f"the log ended at {before}, and then at {end}, stable up to {stable_end}"
    refused = answer.error is not Error.NONE and end == before == stable_end
    yield held_if(refused, answer, row="KIP360-TXN-02", case=dialect, detail=detail)


def producer_of_a_forgotten_transaction(stage: Stage, dialect: str, records: int) -> Part:
    """Check SEQ-01: the partition forgets a producer between two of its transactions; the client begins another."""
    producer, log = stage.transactional(dialect), stage.log()
    producer.enter(log, records)
    producer.end(committed=True)
    log.delete_all_records()
    yield None
    log.await_leader()
    known, end = log.producer(producer.producer_id), log.end()
    yield premise(known is None, f"the partition knows {say(known)}")
    join_transaction(producer, log)
    answer = producer.send(log, producer.batch(log, records))
    admitted = is_appended(answer, end) and log.end() == end + records
    yield held_if(admitted, answer, row="KIP360-SEQ-01", case=f"{dialect}-forgotten")


def read_after_the_restart(stage: Stage, ends: list[bool], sizes: list[int]) -> Part:
    """Check TXN-13: overlapping transactions, some aborted, are read from every offset of several logs by the transaction
    index."""
    known = [KnownRecords(log) for log in stage.logs(LOGS)]
    for n, one in enumerate(known):
        write_overlapping(stage, one, ends[n % len(ends) :] + ends[: n % len(ends)], sizes[n % len(sizes)])
    yield None
    for one in known:
        one.log.await_leader()
        yield from one.observe_each_offset("after-recovery")
    for one in known:
        write_overlapping(stage, one, ends, sizes[0])
        yield from one.observe_each_offset("any-range")


def open_across_the_restart(stage: Stage, dialect: str, ends: list[bool], records: int) -> Part:
    """Check TXN-10 and TXN-13: a transaction in several logs is open when the broker restarts, and others follow it."""
    known, producer = [KnownRecords(log) for log in stage.logs(LOGS)], stage.transactional(dialect, OPEN_MS)
    for one in known:
        one.write(producer, records)
    yield None
    for one in known:
        one.log.await_leader()
    stable = [StableOffsets(one) for one in known]
    for committed in ends:
        yield from read_whole(known, stable, dialect)
        producer.end(committed)
        for one in known:
            one.end(producer, committed)
        yield from read_whole(known, stable, dialect)
        for one in known:
            one.write(producer, records)
    producer.end(committed=False)


def read_whole(known: list[KnownRecords], stable: list[StableOffsets], dialect: str) -> Claims:
    """Observe what a read_committed consumer is given of each log, and the log's last stable offset."""
    for one, offsets in zip(known, stable, strict=True):
        held, read = one.fetch_once()
        yield held_if(held, read, row="KIP360-TXN-13", case=dialect)
        yield from offsets.look()


def write_overlapping(stage: Stage, known: KnownRecords, ends: list[bool], records: int) -> None:
    """Write transactions that overlap, with plain records in between, and end them."""
    plain = stage.idempotent()
    producers = [stage.transactional(("legacy", stage.newest_dialect)[n % 2]) for n, _ in enumerate(ends)]
    for producer in producers:
        known.write(producer, records)
        known.write(plain, records)
    for producer, committed in zip(producers, ends, strict=True):
        producer.end(committed)
        known.end(producer, committed)


def decided_before_the_kill(stage: Stage, dialect: str, records: int, committed: bool) -> Part:
    """Check TXN-12: the broker is killed right after it answered EndTxn, perhaps before the markers are written."""
    producer, log = stage.transactional(dialect), stage.log()
    producer.enter(log, records)
    yield premise_of_open_transaction(producer.describe(), producer)
    decided = producer.require(producer.finish(committed), "producer")
    yield None
    log.await_leader()
    shown = producer.await_completion()
    wanted = MARKERS[committed]
    marked = stage.bench.wait.becomes_true(
        lambda: log.last_marker() is wanted, f"the {wanted.name} marker", MARKER_TIMEOUT
    )
    state = log.producer_state(producer.producer_id)
    still_open = state.producer is not None and state.producer.current_txn_start_offset >= 0
    detail = f"after the restart the log has the {wanted.name} marker: {marked}; {say(state)}"
    complete = marked.require_also(not still_open and state.stable_end == state.end)
    yield held_if(complete, decided, shown, row="KIP360-TXN-12", case=dialect, detail=detail)


@probe(
    "KIP360-SEQ-01",
    "KIP360-SEQ-10",
    "KIP360-SEQ-11",
    "KIP360-SEQ-12",
    "KIP360-TXN-02",
    "KIP360-INIT-09",
    "KIP360-TXN-10",
    "KIP360-TXN-13",
    rig=STAGE,
    examples=3,
    epoch=EPOCHS,
    bumps=EPOCH_BUMPS,
    sizes=SIZES,
    ends=ENDS,
)
def clean_restart(stage: Stage, epoch: int, bumps: int, sizes: list[int], ends: list[bool]) -> Claims:
    """After a clean restart duplicates are recognised, zombies refused, and the coordinator's answers are unchanged."""
    parts = [
        lost_bump(stage, bumps),
        deleted_with_a_later_write(stage, epoch, sizes),
        entirely_deleted(stage, epoch, sizes),
        newest_batch_is_kept(stage, epoch, sizes),
        newest_batch_is_kept_by_an_older_snapshot(stage, epoch, sizes),
        read_after_the_restart(stage, ends, sizes),
        *(open_across_the_restart(stage, dialect, ends, sizes[0]) for dialect in stage.dialects),
        *(zombie_of_a_forgotten_transaction(stage, dialect, sizes[0]) for dialect in stage.dialects),
        *(
            producer_of_a_forgotten_transaction(stage, dialect, size)
            for dialect in stage.dialects
            for size in sizes[:2]
        ),
    ]
    yield from across_a_restart(stage, parts, clean=True)


class LoggedProducerState(NamedTuple):
    """A partition's state of a producer, derived from the producer's batches in the log."""

    epoch: int = -1
    last_sequence: int = -1
    open_from: int = -1

    def after(self, one: Batch) -> LoggedProducerState:
        """Return the state after a batch. A marker with a newer epoch begins that epoch (TV2); one with the same epoch
        only ends the transaction.
        """
        if one.control:
            return LoggedProducerState(
                one.producer_epoch, self.last_sequence if one.producer_epoch == self.epoch else -1
            )
        opens = one.transactional and self.open_from == -1
        last = one.base_sequence + len(one.records) - 1
        return LoggedProducerState(one.producer_epoch, last, one.base_offset if opens else self.open_from)


def written_by(batches: Sequence[Batch], producer: StageProducer) -> LoggedProducerState | None:
    """Return the state that the log implies; None if it has no batch of the producer."""
    own = [found for found in batches if found.producer_id == producer.producer_id]
    return reduce(LoggedProducerState.after, own, LoggedProducerState()) if own else None


def known_of(state: ProducerState | None) -> LoggedProducerState | None:
    return (
        LoggedProducerState(state.producer_epoch, state.last_sequence, state.current_txn_start_offset)
        if state
        else None
    )


def rebuilt_from_the_log(stage: Stage, epoch: int, sizes: list[int]) -> Part:
    """Check SEQ-13: the producer state of partitions matches their log."""
    log = stage.log()
    producers = [stage.idempotent(epoch + n) for n, _ in enumerate(sizes)]
    sent = [fill_log(producer, log, sizes[n:])[-1] for n, producer in enumerate(producers)]
    yield None
    log.await_leader()
    yield state_matches_the_log(log, dict(zip(producers, sent, strict=True)), "kill")


def one_batch_each(producers: Sequence[StageProducer], log: Log, sizes: list[int]) -> dict[StageProducer, SentBatch]:
    return {producer: fill_log(producer, log, [size])[0] for producer, size in zip(producers, sizes, strict=True)}


def rebuilt_from_a_truncated_log(stage: Stage, epoch: int, sizes: list[int]) -> Part:
    """Check SEQ-13: the same after a power loss took some producers' last batches and left half of one."""
    log = stage.log()
    producers = [stage.idempotent(epoch + n) for n, _ in enumerate(sizes)]
    first, second = one_batch_each(producers, log, sizes), one_batch_each(producers, log, sizes)
    kept = len(sizes) - min(sizes[0], len(sizes))
    torn_at = second[producers[kept]].answer.base_offset
    stage.while_down.append(partial(stage.disk(log).cut_log, torn_at, torn=True))
    yield None
    log.await_leader()
    end = log.end()
    yield premise(end == torn_at, f"the log ends where a batch was incomplete, at {torn_at}: {end}")
    left = first | {producer: second[producer] for producer in producers[:kept]}
    yield state_matches_the_log(log, left, "torn-tail")


def roll_segment(stage: Stage, log: Log) -> int:
    """Write a record so much later that it begins a segment, where Kafka takes a producer snapshot; return its
    offset."""
    later = batch(b"later", timestamp=stage.began + 2 * SEGMENT_MS)
    return log.append(later).base_offset


def damaged_while_down(stage: Stage, disk: Disk, damage: Callable[[], object]) -> list[Snapshots]:
    """Damage the disk while the broker is down; return a list that gets the producer snapshots before and after.

    Where there was nothing to damage, the list tells the part of the check, whose premise that is; the other parts go on.
    """
    found: list[Snapshots] = []

    def damage_and_look() -> None:
        found.append(disk.snapshots())
        with suppress(NothingToDamage):
            damage()
        found.append(disk.snapshots())

    stage.while_down.append(damage_and_look)
    return found


def rebuilt_beside_snapshots(stage: Stage, epoch: int, sizes: list[int], case: str) -> Part:
    """Check SEQ-13: the same with a snapshot that is older than the log's end, lost, torn, or ahead of the log.

    The segment below the snapshot counts as flushed: otherwise it would be read again from its start, without the
    snapshot.
    """
    log = stage.log_with(segment_ms=str(SEGMENT_MS))
    disk = stage.disk(log)
    producers = [stage.idempotent(epoch + n) for n, _ in enumerate(sizes)]
    last = one_batch_each(producers, log, sizes)
    snapshot, lost_from = roll_segment(stage, log), last[producers[-1]].answer.base_offset
    if case != "snapshot-ahead":
        last |= one_batch_each(producers[1:], log, sizes[1:])
    flushed = f"the first segment of {log.name} flushed"
    stage.bench.eventually(lambda: disk.checkpoints().recovery_point == snapshot, flushed, every=0.1)
    damage: dict[str, Callable[[], object]] = {
        "older-snapshot": disk.snapshots,
        "snapshot-lost": disk.remove_snapshots,
        "snapshot-torn": partial(disk.tear_snapshot, snapshot),
        "snapshot-ahead": partial(disk.cut_log, lost_from),
    }
    found = damaged_while_down(stage, disk, damage[case])
    yield None
    log.await_leader()
    before, after = (one.offsets for one in found)
    yield premise(
        snapshot in before and (snapshot in after) == (case != "snapshot-lost"), f"{say(before)}, then {say(after)}"
    )
    yield premise(case != "snapshot-ahead" or log.end() == lost_from, f"the log ends at {lost_from}: {log.end()}")
    left = {producer: sent for producer, sent in last.items() if log.end() > sent.answer.base_offset}
    yield state_matches_the_log(log, left, case, forgotten=[one for one in producers if one not in left])


def rebuilt_transactions(stage: Stage, dialect: str, ends: list[bool], records: int) -> Part:
    """Check SEQ-13: the same for transactions that were committed, aborted, or open when the broker was killed."""
    log = stage.log()
    open_one, twice = stage.transactional(dialect, OPEN_MS), stage.transactional(dialect, OPEN_MS)
    for committed in ends:
        twice.enter(log, records)
        twice.end(committed)
    for producer in (open_one, twice):
        join_transaction(producer, log)
    last = {producer: fill_log(producer, log, [records, records])[-1] for producer in (open_one, twice)}
    ended = [stage.transactional(dialect) for _ in ends]
    for producer, committed in zip(ended, ends, strict=True):
        producer.enter(log, records)
        producer.end(committed)
    yield None
    log.await_leader()
    yield state_matches_the_log(log, last, dialect, at_rest=ended)


def state_matches_the_log(
    log: Log,
    last: dict[StageProducer, SentBatch],
    case: str,
    *,
    at_rest: Sequence[StageProducer] = (),
    forgotten: Sequence[StageProducer] = (),
) -> Claim:
    """Observe that the partition's producer state matches the log, and that repeated last batches are recognised.

    Producers `at_rest` have ended their transactions, so they have nothing to repeat; nothing is left of those
    `forgotten`.
    """
    batches, end, whose = log.batches(), log.end(), [*last, *at_rest, *forgotten]
    logged = [written_by(batches, producer) for producer in whose]
    known = [known_of(log.producer(producer.producer_id)) for producer in whose]
    whole = all(one is not None for one in logged[: len(last) + len(at_rest)])
    again = [producer.send(log, sent.batch) for producer, sent in last.items()]
    retries = zip(again, last.values(), strict=True)
    recognised = all(is_appended(retry, sent.answer.base_offset) for retry, sent in retries) and log.end() == end
    detail = f"by the log its producers are at {say(logged)}, by the partition at {say(known)}"
    held = whole and known == logged and recognised
    return held_if(held, *again, row="KIP360-SEQ-13", case=case, detail=detail)


def repeated_end(stage: Stage, bumps: int, committed: bool) -> Part:
    """Check FENCE-08: the answer to EndTxn v5 is lost, and the request is repeated after the restart."""
    producer = stage.transactional("tv2")
    producer.bump(bumps)
    producer.enter(stage.log())
    lost = producer.require(producer.finish(committed), "producer")
    yield None
    again = producer.finish(committed)
    same = ends_at(again, producer.producer_id, producer.epoch + 1) and again.producer_epoch == lost.producer_epoch
    yield held_if(same, lost, again, row="KIP360-FENCE-08", case="fail-over")


def waiting_for_its_time_out(stage: Stage, records: int) -> Part:
    """Check TXN-03: the coordinator dies while a transaction waits for its timeout."""
    producer, log = stage.transactional(stage.newest_dialect, WAITS_MS), stage.log()
    producer.enter(log, records)
    shown = producer.describe()
    yield premise_of_description(shown.state == "Ongoing", f"still open: {shown}", producer)
    yield None
    log.await_leader()
    yield observe_rollback(producer, log, producer.await_completion("time-out"), case="fail-over")


@probe(
    "KIP360-SEQ-13",
    "KIP360-FENCE-08",
    "KIP360-TXN-03",
    "KIP360-TXN-10",
    "KIP360-TXN-12",
    "KIP360-TXN-13",
    rig=STAGE,
    examples=3,
    epoch=EPOCHS,
    bumps=EPOCH_BUMPS,
    sizes=SIZES,
    ends=ENDS,
    committed=booleans(),
)
def killed_broker(stage: Stage, epoch: int, bumps: int, sizes: list[int], ends: list[bool], committed: bool) -> Claims:
    """After a kill producer state matches the log, and the coordinator's transactions and timeouts are unchanged."""
    parts = [rebuilt_from_the_log(stage, epoch, sizes), rebuilt_from_a_truncated_log(stage, epoch, sizes)]
    parts.extend(rebuilt_beside_snapshots(stage, epoch, sizes, case) for case in BESIDE_SNAPSHOTS)
    parts.extend(rebuilt_transactions(stage, dialect, ends, sizes[0]) for dialect in stage.dialects)
    if stage.newest_dialect == "tv2":
        parts.append(repeated_end(stage, bumps, committed))
    parts.append(waiting_for_its_time_out(stage, sizes[0]))
    parts.append(read_after_the_restart(stage, ends, sizes))
    parts.extend(open_across_the_restart(stage, dialect, ends, sizes[0]) for dialect in stage.dialects)
    parts.extend(decided_before_the_kill(stage, dialect, sizes[0], committed) for dialect in stage.dialects)
    yield from across_a_restart(stage, parts, clean=False)
