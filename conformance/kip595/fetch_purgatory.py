"""Fetch of the metadata log: which requests wait in purgatory, and which are answered at once (KIP-595, KIP-1166)."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from hypothesis.strategies import integers

from conformance.core.checks import Claim, Claims, held_if, kept_if, premise, probe
from conformance.rigs.quorum.bounds import AT_ONCE, TRIES, RequestWait, judge_waits, measure_waits
from conformance.rigs.quorum.fetching import log_end
from conformance.rigs.quorum.mixed import MIXED, Mixed
from conformance.rigs.quorum.quorum import FAR, QUORUM, Quorum, ms_between
from protocol.log import FetchedPartition, FetchOptions, FetchPartition
from protocol.quorum import METADATA
from protocol.since import since
from protocol.words import say
from strategies.inputs import near_or_far

NAMES_HIGH_WATERMARK_FROM = since("FetchRequest", "HighWatermark")

AGAIN = 6
"""The number of attempts at a wait; an append may spoil each."""

LONG = 10_000
"""The milliseconds in which a leader certainly appends: it writes a no-op record every half second (KIP-835)."""

MARGIN = 40
"""A number of records that a leader cannot append while a fetch past its log end is tried several times."""


class TimedFetch(msgspec.Struct, frozen=True):
    """An answer and the milliseconds that it took; `arrived_ms` is on the wall clock."""

    answer: FetchedPartition
    milliseconds: float
    arrived_ms: int


def timed_fetch(
    quorum: Quorum, offset: int, max_wait_ms: int, *, high_watermark: int | None = None, last: int | None = None
) -> TimedFetch:
    """Fetch from the leader, claiming that the log before `offset` ends in the leader's epoch, or in the epoch of `last`."""
    settled = quorum.agreed_leader()
    leader = quorum.client(quorum.bench.name_of(settled.leader_id))
    epoch = settled.leader_epoch
    last = epoch if last is None else last
    wanted = FetchPartition(METADATA, 0, offset, epoch, last, high_watermark=high_watermark)
    began = quorum.bench.now()
    answer = leader.fetch(wanted, FetchOptions(max_wait_ms=max_wait_ms, cluster_id=quorum.cluster_id))
    ended = quorum.bench.now()
    return TimedFetch(answer, ms_between(began, ended), ended.unix_ms)


def wait_of(quorum: Quorum, lasted: float, step: TimedFetch, due: float) -> RequestWait:
    """Return a wait of `lasted` ms that should have ended after `due` ms; `step` is the time of a fetch that did not
    wait."""
    late = quorum.bench.wait.recorded_late(lasted / 1000) if lasted >= due + AT_ONCE else 0.0
    return RequestWait(lasted, step.milliseconds, late)


@probe("KIP595-FETCH-05", rig=QUORUM, cases=["diverging"], past=near_or_far(FAR), wait=integers(1000, 1500))
def diverging_epoch_is_answered_at_once(quorum: Quorum, past: int, wait: int) -> Claims:
    """An answer with a diverging epoch is sent at once, not after MaxWaitMs."""
    offset = log_end(quorum) + MARGIN + past
    waits, seen = at_once(quorum, lambda most: timed_fetch(quorum, offset, most), wait)
    yield premise(all(one.answer.diverging_epoch is not None for one in seen), "a diverging epoch")
    yield from judge_waits(waits, 0, *(one.answer for one in seen), detail=f" with MaxWaitMs {wait}")


@probe("KIP595-FETCH-05", rig=MIXED, cases=["snapshot"], past=near_or_far(FAR), wait=integers(1000, 1500))
def snapshot_id_is_answered_at_once(quorum: Mixed, past: int, wait: int) -> Claims:
    """An answer that names a snapshot is sent at once, too; the fetching log ends before all snapshots.

    No append can reach the fetch offset meanwhile, since an append would complete every delayed fetch.
    """
    yield premise(quorum.has_snapshot(), "a snapshot after epoch 0")
    offset = log_end(quorum) + MARGIN + past
    waits, seen = at_once(quorum, lambda most: timed_fetch(quorum, offset, most, last=0), wait)
    yield premise(all(one.answer.snapshot_id is not None for one in seen), "a snapshot named")
    yield from judge_waits(waits, 0, *(one.answer for one in seen), detail=f" with MaxWaitMs {wait}")


def at_once(quorum: Quorum, ask: Callable[[int], TimedFetch], wait: int) -> tuple[list[RequestWait], list[TimedFetch]]:
    """Fetch with MaxWaitMs `wait`, each time after the same fetch with 0. Return the waits and the answers."""
    seen: list[TimedFetch] = []

    def measure() -> RequestWait:
        step = ask(0)
        seen.append(ask(wait))
        return wait_of(quorum, seen[-1].milliseconds, step, 0)

    return measure_waits(measure, AT_ONCE), seen


# --- at the log end


class SeenAppend(NamedTuple):
    """The log end after an append that was just seen, and the high watermark at that time."""

    end: int
    high_watermark: int

    @property
    def is_committed(self) -> bool:
        return self.high_watermark >= self.end


def next_append(quorum: Quorum) -> SeenAppend:
    """Wait for the leader's next append. Raises Overdue if there is none."""

    def append_if_seen() -> SeenAppend | None:
        answer = timed_fetch(quorum, log_end(quorum), LONG).answer
        return SeenAppend(answer.batches[-1].last_offset + 1, answer.high_watermark) if answer.batches else None

    return quorum.bench.eventually(append_if_seen, "an append of the leader")


class AtEnd(NamedTuple):
    """A fetch delayed at a log end: the wait, and the answer, which shows whether an append ended it."""

    at: SeenAppend
    wait: RequestWait
    answer: FetchedPartition


def delayed_fetches(
    quorum: Quorum,
    most: int,
    due: float,
    start: Callable[[], SeenAppend | None],
    *,
    named: int | None = None,
) -> list[AtEnd]:
    """Fetch at the log end with MaxWaitMs `most`: once if that ends after `due` milliseconds, else `TRIES` times.

    Fetches that an append ends before are left out. `named` is the amount by which the request's high watermark is
    below the leader's; by default the request has none.
    """
    found: list[AtEnd] = []
    for _ in range(AGAIN):
        step, at = timed_fetch(quorum, 1, 0), start()
        if at is None:
            continue
        seen = timed_fetch(quorum, at.end, most, high_watermark=None if named is None else at.high_watermark - named)
        if seen.answer.batches and seen.milliseconds < due + AT_ONCE:
            continue
        found.append(AtEnd(at, wait_of(quorum, seen.milliseconds, step, due), seen.answer))
        if found[0].wait.lasted < due + AT_ONCE or len(found) == TRIES:
            break
    return found


def not_ended_by_appends(found: list[AtEnd]) -> Claim:
    return premise(bool(found), "a fetch that no append ended early")


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["idle"], wait=integers(50, 250))
def idle_fetch_waits(quorum: Quorum, wait: int) -> Claims:
    """A fetch at the end of a committed log is answered without records when its wait is over, and not before."""

    def next_committed() -> SeenAppend:
        at = next_append(quorum)
        quorum.bench.eventually(
            lambda: timed_fetch(quorum, at.end, 0).answer.high_watermark >= at.end, f"all before {at.end} is committed"
        )
        return at

    found = delayed_fetches(quorum, wait, wait, next_committed)
    yield not_ended_by_appends(found)
    yield from judge_waits([one.wait for one in found], wait, *(one.answer for one in found))


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["idle"], wait=integers(50, 250))
def fetch_without_high_watermark_outwaits_a_commit(quorum: Quorum, wait: int) -> Claims:
    """Advancing the high watermark does not complete a delayed fetch without a high watermark (the field's default)."""
    found = delayed_fetches(quorum, wait, wait, lambda: uncommitted_append(quorum))
    yield not_ended_by_appends(found)
    yield from judge_waits([one.wait for one in found], wait, *(one.answer for one in found))


def uncommitted_append(quorum: Quorum) -> SeenAppend | None:
    """Return the leader's next append, None if it was already committed when it was seen."""
    at = next_append(quorum)
    return None if at.is_committed else at


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["append"], wait=integers(LONG, 2 * LONG))
def append_answers_a_waiting_fetch(quorum: Quorum, wait: int) -> Claims:
    """A fetch delayed at the log end is answered as soon as the leader appends."""
    seen: list[TimedFetch] = []

    def measure() -> RequestWait:
        step = timed_fetch(quorum, 1, 0)
        seen.append(timed_fetch(quorum, log_end(quorum), wait))
        newest = max((batch.max_timestamp for batch in seen[-1].answer.batches), default=0)
        return wait_of(quorum, seen[-1].arrived_ms - newest, step, 0)

    waits = measure_waits(measure, AT_ONCE)
    right = all(one.answer.batches for one in seen)
    yield from judge_waits(
        waits, 0, *(one.answer for one in seen), right=right, at_most=True, detail=" from the append on"
    )


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["hw-behind"], back=integers(1, 50), wait=integers(2000, 3000))
def older_high_watermark_does_not_wait(quorum: Quorum, back: int, wait: int) -> Claims:
    """A fetch at the log end with an older high watermark is answered at once with the current one."""

    def here() -> SeenAppend:
        return SeenAppend(log_end(quorum), timed_fetch(quorum, 1, 0).answer.high_watermark)

    found = delayed_fetches(quorum, wait, 0, here, named=back)
    yield not_ended_by_appends(found)
    advanced = all(one.answer.high_watermark > one.at.high_watermark - back for one in found)
    yield from judge_waits([one.wait for one in found], 0, *(one.answer for one in found), right=advanced)


@probe("KIP595-FETCH-07", rig=QUORUM, cases=["hw-rises"], wait=integers(2000, 3000))
def rising_high_watermark_answers(quorum: Quorum, wait: int) -> Claims:
    """A fetch with the current high watermark is answered without records once a new append is committed.

    A fetch that only the next append completes, long after the high watermark rose, does not show this.
    """
    found = delayed_fetches(quorum, wait, 0, lambda: uncommitted_append(quorum), named=0)
    risen = [one for one in found if one.answer.high_watermark > one.at.high_watermark]
    early = any(not one.answer.batches and one.wait.lasted < wait for one in found if one not in risen)
    yield premise(bool(risen) or early, "a high watermark that rose before the next append")
    answered = any(not one.answer.batches for one in risen)
    yield held_if(
        answered and not early,
        *(one.answer for one in found),
        detail=f"each answer came after {say([round(one.wait.lasted) for one in found])} ms of {wait}",
    )


@probe("KIP595-FETCH-07-L", rig=QUORUM, cases=["hw-rises"], wait=integers(150, 250))
def rising_high_watermark_in_the_newest_version(quorum: Quorum, wait: int) -> Claims:
    """A fetch at the log end is answered early once a new append is committed, or it is not: recorded, never judged."""
    at = next_append(quorum)
    yield premise(not at.is_committed, f"a record before {at.end} that was not committed yet")
    names_it = quorum.version("Fetch") >= NAMES_HIGH_WATERMARK_FROM
    seen = timed_fetch(quorum, at.end, wait, high_watermark=at.high_watermark if names_it else None)
    yield premise(not seen.answer.batches, "nothing appended meanwhile")
    answered = seen.answer.high_watermark > at.high_watermark and seen.milliseconds < wait
    detail = f"it came after {seen.milliseconds:.0f} ms of {wait}"
    yield kept_if("KIP595-FETCH-07-L", answered, seen.answer, case="hw-rises", detail=detail)
