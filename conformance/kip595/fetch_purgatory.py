"""Fetch of the metadata log: which requests wait in purgatory, and which are answered at once (KIP-595, KIP-1166)."""

from __future__ import annotations

from collections.abc import Generator

import msgspec
from hypothesis.strategies import integers

from conformance.core.checks import Claim, ObservationClaim, held_if, premise, probe
from conformance.rigs.quorum.fetching import log_end
from conformance.rigs.quorum.mixed import MIXED, Mixed
from conformance.rigs.quorum.quorum import FAR, QUORUM, Quorum, took
from fixtures.wire.log import FetchedPartition
from fixtures.wire.quorum import METADATA

LATE = 1000
"""Milliseconds of delay that a busy machine may add."""

LONG = 10_000
"""Milliseconds within which a leader certainly appends: it writes a no-op record every half second (KIP-835)."""


class TimedFetch(msgspec.Struct, frozen=True):
    """An answer and the milliseconds it took; `arrived_ms` is on the wall clock."""

    answer: FetchedPartition
    milliseconds: float
    arrived_ms: int


def waited(
    quorum: Quorum, offset: int, max_wait_ms: int, *, high_watermark: int | None = None, last: int | None = None
) -> TimedFetch:
    """Fetch from the leader, claiming that the log before `offset` ends in the leader's epoch, or in the epoch of `last`."""
    settled = quorum.settled()
    leader = quorum.client(quorum.bench.name_of(settled.leader_id))
    began = quorum.bench.now()
    answer = leader.fetch(
        METADATA, 0, offset, current_leader_epoch=settled.leader_epoch,
        last_fetched_epoch=settled.leader_epoch if last is None else last, cluster_id=quorum.cluster_id,
        max_wait_ms=max_wait_ms, high_watermark=high_watermark,
    )  # fmt: skip
    ended = quorum.bench.now()
    return TimedFetch(answer, took(began, ended), ended.unix_ms)


@probe("KIP595-FETCH-05", rig=QUORUM, cases=["diverging"], by=integers(1, FAR), wait=integers(1000, 1500))
def diverging_epoch_is_answered_at_once(
    quorum: Quorum, by: int, wait: int, expected: str
) -> Generator[Claim, None, None]:
    """An answer with a diverging epoch is delayed by MaxWaitMs up to 3.5.1, and sent at once from 3.5.2."""
    seen = waited(quorum, log_end(quorum) + 1000 + by, wait)
    yield premise(seen.answer.diverging_epoch is not None, "a diverging epoch")
    yield in_time(seen, wait, expected)


@probe("KIP595-FETCH-05", rig=MIXED, cases=["snapshot"], by=integers(1, FAR), wait=integers(1000, 1500))
def snapshot_id_is_answered_at_once(quorum: Mixed, by: int, wait: int, expected: str) -> Generator[Claim, None, None]:
    """An answer that names a snapshot is delayed or immediate likewise: it goes to a log that ends before all
    snapshots.

    The fetch offset is one that no append can reach meanwhile, since an append would complete every delayed fetch.
    """
    yield premise(quorum.has_snapshot(), "a snapshot after epoch 0")
    seen = waited(quorum, log_end(quorum) + 1000 + by, wait, last=0)
    yield premise(seen.answer.snapshot_id is not None, "a snapshot named")
    yield in_time(seen, wait, expected)


def in_time(seen: TimedFetch, wait: int, expected: str) -> ObservationClaim:
    held = seen.milliseconds >= wait if expected == "AFTER_MAX_WAIT" else seen.milliseconds < wait
    return held_if(held, seen.answer, detail=f"after {seen.milliseconds:.0f} ms of {wait}")


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["idle"], wait=integers(50, 250))
def idle_fetch_waits(quorum: Quorum, wait: int) -> Generator[Claim, None, None]:
    """At the log end a fetch is answered with no records once its wait is over, and not before; the whole log is committed."""
    at_end = waited(quorum, log_end(quorum), LONG).answer
    yield premise(bool(at_end.batches), "an append")
    end = at_end.batches[-1].last_offset + 1
    quorum.bench.eventually(
        lambda: waited(quorum, end, 0).answer.high_watermark >= end, f"all before {end} is committed"
    )
    seen = waited(quorum, end, wait)
    yield premise(not seen.answer.batches, "nothing appended meanwhile")
    over = wait <= seen.milliseconds < wait + LATE
    yield held_if(over, seen.answer, detail=f"after {seen.milliseconds:.0f} ms of {wait}")


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["idle"], wait=integers(50, 250))
def fetch_without_high_watermark_outwaits_a_commit(quorum: Quorum, wait: int) -> Generator[Claim, None, None]:
    """Advancing the high watermark does not complete a delayed fetch that names no high watermark (the field's default)."""
    appended = waited(quorum, log_end(quorum), LONG).answer
    yield premise(bool(appended.batches), "an append")
    end = appended.batches[-1].last_offset + 1
    yield premise(appended.high_watermark < end, f"a record before {end} that was not committed yet")
    seen = waited(quorum, end, wait)
    yield premise(not seen.answer.batches, "nothing appended meanwhile")
    over = wait <= seen.milliseconds < wait + LATE
    yield held_if(over, seen.answer, detail=f"after {seen.milliseconds:.0f} ms of {wait}")


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["append"], wait=integers(LONG, 2 * LONG))
def append_answers_a_waiting_fetch(quorum: Quorum, wait: int) -> Generator[Claim, None, None]:
    """A fetch delayed at the log end is answered as soon as the leader appends."""
    seen = waited(quorum, log_end(quorum), wait)
    late = seen.arrived_ms - max((batch.max_timestamp for batch in seen.answer.batches), default=0)
    yield held_if(bool(seen.answer.batches) and late < LATE, seen.answer, detail=f"{late} ms after the append")


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["hw-behind"], back=integers(1, 50), wait=integers(2000, 3000))
def older_high_watermark_does_not_wait(quorum: Quorum, back: int, wait: int) -> Generator[Claim, None, None]:
    """At the log end a fetch with an older high watermark is answered at once with the current one."""
    known = waited(quorum, 1, 0).answer.high_watermark - back
    seen = waited(quorum, log_end(quorum), wait, high_watermark=known)
    yield premise(not seen.answer.batches, "nothing appended meanwhile")
    advanced = seen.answer.high_watermark > known
    yield held_if(
        advanced and seen.milliseconds < wait, seen.answer, detail=f"after {seen.milliseconds:.0f} ms of {wait}"
    )


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["hw-rises"], wait=integers(2000, 3000))
def rising_high_watermark_answers(quorum: Quorum, wait: int) -> Generator[Claim, None, None]:
    """A fetch with the current high watermark is answered without records once a fresh append is committed."""
    appended = waited(quorum, log_end(quorum), LONG).answer
    yield premise(bool(appended.batches), "an append")
    end = appended.batches[-1].last_offset + 1
    yield premise(appended.high_watermark < end, f"a record before {end} that was not committed yet")
    seen = waited(quorum, end, wait, high_watermark=appended.high_watermark)
    yield premise(not seen.answer.batches, "nothing appended meanwhile")
    advanced = seen.answer.high_watermark > appended.high_watermark
    yield held_if(
        advanced and seen.milliseconds < wait, seen.answer, detail=f"after {seen.milliseconds:.0f} ms of {wait}"
    )
