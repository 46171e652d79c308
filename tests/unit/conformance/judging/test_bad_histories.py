"""Histories of one partition that break rows by what is read, deleted or listed, or by the members of the ISR; each next to a
history that comes close to it and breaks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from conformance.judging.excuses import (
    APPENDED_BY_FAULT,
    BYTES_FLIPPED,
    DELETED_BY_SETTING,
    DELETION_TIMED_OUT,
    MOVED_BY_FAULT,
    REGISTERED_AGAIN,
    RISEN,
    WRITTEN_BEFORE,
    Evidence,
)
from conformance.judging.judge import judge_history
from conformance.judging.judges import JUDGES
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import BROKERS, LogHistory, held_on_disk, stamped
from tests.support.judging import named

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
CORRUPT_B = msgspec.structs.replace(B, crc_valid=False)
FORGED = stamped(0, 2, "forged")
TOO_FEW = Error.NOT_ENOUGH_REPLICAS
TWO_AND_THREE_AWAY: dict[str, Any] = {"isr": (1,), "unfenced": (1,)}


def begun() -> LogHistory:
    return LogHistory().created(min_insync_replicas="2").settled(1, 0)


def written(*values: str, acks: int = -1) -> LogHistory:
    history = begun()
    for offset, value in enumerate(values):
        history.produce(1, value, at=offset, acks=acks)
    return history


def rested(history: LogHistory, *log: Any, start: int = 0, epoch: int = 0, leader: int = 1) -> LogHistory:
    """At rest every replica's full log is read, over the wire and from disk."""
    history.all_healed().settled(leader, epoch).at_rest().settled(leader, epoch)
    end = log[-1].last_offset + 1 if log else start
    for broker in BROKERS:
        history.whole(broker, *log, epoch=epoch, hw=end, start=start)
    epochs = tuple({one.leader_epoch: (one.leader_epoch, one.base_offset) for one in reversed(log)}.values())[::-1]
    return history.on_disk(*(held_on_disk(broker, *log, epochs=epochs, start=start) for broker in BROKERS))


def trimmed_to(start: int) -> LogHistory:
    """DeleteRecords up to 1 was requested; two replicas begin at `start`."""
    left = [one for one in (A, B, C) if one.base_offset >= start]
    history = written("a", "b", "c").trim(1, 1).settled(1, 0)
    return history.whole(1, *left, epoch=0, hw=3, start=start).whole(2, *left, epoch=0, hw=3, start=start)


def emptied(history: LogHistory) -> LogHistory:
    """The next leader begins at the log end."""
    return history.move(1, 2).settled(2, 1).whole(2, epoch=1, hw=2, start=2)


def from_before() -> LogHistory:
    """The example goes on where another one left off: more may have been deleted than it requested."""
    history = LogHistory()
    history.example = msgspec.structs.replace(history.example, context={"topic": "topic"})
    return history.settled(1, 0).trim(1, 1, 3)


def low_watermark(low: int, *before: int) -> LogHistory:
    history = written("a", "b", "c")
    for offset in before:
        history.trim(1, offset, error=Error.REQUEST_TIMED_OUT)
    return history.trim(1, 1, low=low)


def led_again(*gap: tuple[int, tuple[int, ...]], epoch: int) -> LogHistory:
    """2 sees 1 lead at epoch 3, then no leader at each (epoch, unfenced brokers), then 1 at `epoch`."""
    history = LogHistory().metadata(2, 1, 3)
    for at, unfenced in gap:
        history.metadata(2, -1, at, unfenced=unfenced)
    return history.metadata(2, 1, epoch)


def fenced_past_time(epoch: int) -> LogHistory:
    history = LogHistory().metadata(2, 1, 3).hit("pause-past-fencing", 1)
    for _ in range(2):
        history.metadata(2, -1, 3, unfenced=(2, 3))
    return history.heal("pause-past-fencing", 1).metadata(2, 1, epoch)


def restarted_at_once() -> LogHistory:
    """After it registers again it is fenced for a while, and leads all the while (before KAFKA-18106)."""
    history = LogHistory().metadata(2, 1, 3).restart(1)
    for _ in range(2):
        history.metadata(2, -1, 3, unfenced=(2, 3))
    return history.metadata(2, 1, 3)


def looks_at(isr: tuple[int, ...], times: int) -> LogHistory:
    """1 sees 3 fenced that many times."""
    return sees_fenced(LogHistory().settled(1, 0), isr, times)


def sees_fenced(history: LogHistory, isr: tuple[int, ...] = BROKERS, times: int = 4, every: float = 0.5) -> LogHistory:
    """1 sees 3 fenced, each time after half a second."""
    for _ in range(times):
        history.later(every).metadata(1, 1, 0, isr=isr, unfenced=(1, 2))
    return history


def fenced_after_a_restart() -> LogHistory:
    return sees_fenced(LogHistory().settled(1, 0).restart(3))


def fenced_after_it_was_back() -> LogHistory:
    return sees_fenced(
        LogHistory().settled(1, 0).restart(3).metadata(1, 1, 0, isr=(1, 2), unfenced=(1, 2)).settled(1, 0)
    )


def fenced_while_down() -> LogHistory:
    return sees_fenced(LogHistory().settled(1, 0).kill(3))


def with_uncommitted() -> LogHistory:
    """1 has a, which all replicas have, and b, which it alone has."""
    return written("a").produce(1, "b", at=1, acks=1).whole(1, A, B, epoch=0, hw=1)


def given(*batches: Any, after: int, epoch: int = 0) -> LogHistory:
    """Consumers at 1 and at follower 2 are given batches with high watermark 1 in the answer; asked again it is `after`."""
    history = with_uncommitted()
    for broker in (1, 2):
        history.fetch(broker, *batches, epoch=epoch, hw=1).fetch(broker, *batches[:1], epoch=epoch, hw=after)
    return history


def listed(latest: int, *, again: int = 0) -> LogHistory:
    history = written("a", acks=1).fetch(1, epoch=0, hw=0).latest(1, latest).fetch(1, epoch=0, hw=again)
    return history.latest(1, latest)


def led_by_1() -> LogHistory:
    return LogHistory().created().settled(1, 2)


def lost_epochs() -> LogHistory:
    """3 loses leader-epoch-checkpoint, and comes back."""
    return led_by_1().hit("remove-epoch-checkpoint", 3).heal("remove-epoch-checkpoint", 3)


def read_by_1(history: LogHistory, *epochs: int) -> LogHistory:
    for offset in range(len(epochs)):
        history.produce(1, "abc"[offset], at=offset, acks=1)
    return history.whole(
        1, *(stamped(e, offset, "abc"[offset]) for offset, e in enumerate(epochs)), epoch=2, hw=len(epochs)
    )


def apart(history: LogHistory) -> LogHistory:
    """At rest 1 holds a and b, 2 only a."""
    history.produce(1, "a", at=0).produce(1, "b", at=1, acks=1).all_healed().settled(1, 2).at_rest().settled(1, 2)
    one, two = stamped(2, 0, "a"), stamped(2, 1, "b")
    return history.whole(1, one, two, epoch=2, hw=2).whole(2, one, epoch=2, hw=1).whole(3, one, two, epoch=2, hw=2)


def away(history: LogHistory, refused: bool = True) -> LogHistory:
    """Add an ISR of broker 1 alone, in its own view; it refuses a write for lack of replicas, and acknowledges another."""
    history.metadata(1, 1, 0, **TWO_AND_THREE_AWAY)
    if refused:
        history.produce(1, "a", error=TOO_FEW)
    return history.produce(1, "b", at=0).metadata(1, 1, 0, **TWO_AND_THREE_AWAY)


def alone_in_the_isr(
    history: LogHistory | None = None,
    between: Callable[[LogHistory], object] = lambda history: history,
    after: Callable[[LogHistory], object] = lambda history: history,
) -> LogHistory:
    """All brokers are alive. By its own Metadata the leader is alone in the ISR before and after it acknowledges a write."""
    history = (begun() if history is None else history).metadata(1, 1, 0, isr=(1,)).produce(1, "a", error=TOO_FEW)
    between(history)
    history.produce(1, "b", at=0)
    after(history)
    return history.metadata(1, 1, 0, isr=(1,))


def committed_alone(*, refused: bool) -> LogHistory:
    """The same, and its high watermark rises."""
    history = written("a", acks=1).metadata(1, 1, 0, isr=(1,))
    if refused:
        history.produce(1, "b", error=TOO_FEW)
    return history.whole(1, A, epoch=0, hw=0).whole(1, A, epoch=0, hw=1).metadata(1, 1, 0, isr=(1,))


def cut_off() -> LogHistory:
    return begun().hit("cut-off-from-controllers", 2).hit("isolate", 3)


def handed(*offsets: int, history: LogHistory | None = None) -> LogHistory:
    history = written("a", "b", "c") if history is None else history
    for offset in offsets:
        history.delivered("consumer-1", offset, 0, "abc"[offset])
    return history


def corrupt(history: LogHistory) -> LogHistory:
    """A consumer's fetch returns b with a wrong CRC."""
    return history.fetch(1, A, CORRUPT_B, epoch=0, hw=2)


BAD: dict[str, tuple[Callable[[], LogHistory], set[str]]] = {
    "deleted more than DeleteRecords asked for": (
        lambda: trimmed_to(2),
        {"KIP101-INV-05", "KIP320-DR-02", "GEN-15"},
    ),
    "log start that nothing moved": (lambda: emptied(written("a", "b")), {"KIP101-INV-05", "GEN-15"}),
    "log start after a fault that had segments of another topic deleted": (
        lambda: emptied(
            written("a", "b").hit("retention-by-size", 1, partition="other-0").heal("retention-by-size", 1)
        ),
        {"KIP101-INV-05", "GEN-15"},
    ),
    "low watermark above all requests": (lambda: low_watermark(3), {"KIP320-DR-02", "GEN-15"}),
    "same epoch after none led, alive": (
        lambda: led_again((4, BROKERS), (4, BROKERS), epoch=4),
        {"KIP101-EPOCH-02"},
    ),
    "same epoch after none led, fenced": (lambda: fenced_past_time(3), {"KIP101-EPOCH-02"}),
    "fenced replica that never leaves the ISR": (lambda: looks_at(BROKERS, 4), {"KIP101-INV-16"}),
    "fenced replica that stays after it was back": (fenced_after_it_was_back, {"KIP101-INV-16"}),
    "fenced replica that stays while it is down": (fenced_while_down, {"KIP101-INV-16"}),
    "consumers given what is uncommitted": (
        lambda: given(A, B, after=1),
        {"KIP320-FETCH-04", "KIP320-FETCH-07", "GEN-17"},
    ),
    "consumers given what is uncommitted, without an epoch": (
        lambda: given(A, B, after=1, epoch=-1),
        {"KIP320-FETCH-04", "KIP320-FETCH-07", "GEN-17"},
    ),
    "latest offset above the high watermark": (lambda: listed(1), {"KIP320-LO-01", "KIP101-INV-09"}),
    "leader epochs that fall after a lost checkpoint": (lambda: read_by_1(lost_epochs(), 2, 1), {"KIP101-INV-03"}),
    "leader epochs that fall": (lambda: read_by_1(led_by_1(), 2, 1), {"KIP101-INV-03"}),
    "replicas that differ": (lambda: apart(led_by_1()), {"KIP101-INV-18", "KIP101-STAMP-03"}),
    "replicas that differ after a lost checkpoint": (
        lambda: apart(lost_epochs()),
        {"KIP101-INV-18", "KIP101-STAMP-03"},
    ),
    "acknowledged although all others are away": (lambda: away(cut_off()), {"KIP101-INV-17"}),
    "acknowledged although all others are down": (lambda: away(begun().hit("kill", 2, 3)), {"KIP101-INV-17"}),
    "acknowledged by a leader alone in the ISR": (alone_in_the_isr, {"KIP101-INV-17"}),
    "committed by a leader alone in the ISR": (lambda: committed_alone(refused=True), {"KIP101-INV-17"}),
    "acknowledged by a leader alone in the ISR, long after a fault": (
        lambda: alone_in_the_isr(begun().hit("kill", 2).later(11)),
        {"KIP101-INV-17"},
    ),
    "record twice in the log": (
        lambda: rested(written("a").produce(1, "b", at=2), A, stamped(0, 1, "a"), stamped(0, 2, "b")),
        {"GEN-16"},
    ),
    "record that no request sent": (lambda: rested(written("a", "b"), A, B, FORGED), {"GEN-16"}),
    "acknowledged record gone from its leader": (
        lambda: rested(written("a", "b", acks=1), stamped(0, 0, "b")),
        {"GEN-16"},
    ),
    "leader's log that shrinks": (
        lambda: written("a", acks=1).whole(1, A, epoch=0, hw=0).whole(1, epoch=0, hw=0),
        {"GEN-16"},
    ),
    "consumer that skips a record": (lambda: handed(0, 2), {"GEN-16"}),
    "consumer that is handed a record again": (lambda: handed(0, 1, 0), {"GEN-16"}),
    "batch with a wrong CRC": (lambda: corrupt(written("a", "b")), {"GEN-16"}),
}

FLIPPED = Effects(process="down", disk=("log-bytes",))
LEGAL: dict[str, Callable[[], LogHistory]] = {
    "deleted what DeleteRecords asked for": lambda: trimmed_to(1),
    "log start that retention moved": lambda: emptied(
        LogHistory().created(retention_ms="100").settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1)
    ),
    "low watermark of a request that timed out": lambda: low_watermark(3, 3),
    "low watermark of a topic from before the history": from_before,
    "log start after a fault that had segments deleted": lambda: emptied(
        written("a", "b").hit("retention-by-size", 1, partition="topic-0").heal("retention-by-size", 1)
    ),
    "log start after a fault that had segments of the whole topic deleted": lambda: emptied(
        written("a", "b").hit("retention-by-size", 1, partition="topic-1").heal("retention-by-size", 1)
    ),
    "next epoch after none led": lambda: led_again((4, BROKERS), (4, BROKERS), epoch=5),
    "same epoch after one answer without a leader": lambda: led_again((3, BROKERS), epoch=3),
    "next epoch after a fence": lambda: fenced_past_time(4),
    "same leader, fenced while it is registered again": restarted_at_once,
    "fenced replica that leaves the ISR": lambda: looks_at((1, 2), 4),
    "fenced replica that two answers still have": lambda: looks_at(BROKERS, 2),
    "fenced replica that four quick answers still have": lambda: sees_fenced(LogHistory().settled(1, 0), every=0.0),
    "fenced replica that is looked at twice beside a host that sleeps": lambda: sees_fenced(
        sees_fenced(LogHistory().settled(1, 0), times=2, every=0.1).asleep(60), times=2, every=0.1
    ),
    "fenced replica that is registered again": fenced_after_a_restart,
    "high watermark that rose while the answer was made": lambda: given(A, B, after=2),
    "consumers given what is committed": lambda: given(A, after=1),
    "latest offset of a moment before": lambda: listed(0, again=1),
    "leader epochs that rise after a lost checkpoint": lambda: read_by_1(lost_epochs(), 1, 2),
    "refused while all others are away": lambda: (
        begun()
        .hit("cut-off-from-controllers", 2)
        .hit("isolate", 3)
        .metadata(1, 1, 0, **TWO_AND_THREE_AWAY)
        .produce(1, "a", error=TOO_FEW)
    ),
    "acknowledged by a leader that may not have heard": lambda: away(cut_off(), refused=False),
    "acknowledged while one may be back": lambda: away(begun().hit("one-link", 2).hit("isolate", 3)),
    "committed by a leader that has refused nothing yet": lambda: committed_alone(refused=False),
    "acknowledged long after a refusal": lambda: alone_in_the_isr(between=lambda history: history.later(1)),
    "acknowledged before the other in-sync replica stopped": lambda: alone_in_the_isr(
        after=lambda history: history.hit("stop", 2)
    ),
    "acknowledged right after a fault": lambda: alone_in_the_isr(begun().hit("pause", 2).heal("pause", 2)),
    "acknowledged beside a broken link": lambda: alone_in_the_isr(begun().hit("one-link", 2).later(5)),
    "acknowledged without a refusal before": lambda: (
        begun().metadata(1, 1, 0, isr=(1,)).produce(1, "b", at=0).metadata(1, 1, 0, isr=(1,))
    ),
    "value that was sent twice": lambda: rested(written("a").produce(1, "a", at=1), A, stamped(0, 1, "a")),
    "record that a fault appended": lambda: rested(
        written("a", "b").hit("roll-by-size", 1, partition="topic-0").heal("roll-by-size", 1), A, B, FORGED
    ),
    "acknowledged record gone with its leader": lambda: rested(
        written("a", "b", acks=1).move(1, 2).settled(2, 1), stamped(0, 0, "a"), epoch=1, leader=2
    ),
    "leader's log without what was deleted": lambda: (
        written("a", "b").whole(1, A, B, epoch=0, hw=2).trim(1, 1).whole(1, B, epoch=0, hw=2, start=1)
    ),
    "leader's log after its process ended": lambda: (
        written("a", acks=1).whole(1, A, epoch=0, hw=0).restart(1).settled(1, 2).whole(1, epoch=2, hw=0)
    ),
    "consumer that skips what was deleted": lambda: handed(2, history=handed(0).trim(1, 2)),
    "consumer that is assigned again": lambda: handed(0, history=handed(0, 1).assigned("consumer-1")),
    "wrong CRC after bytes were flipped": lambda: corrupt(
        written("a", "b").hit("flip-bytes", 1, effects=FLIPPED, partition="topic-0").heal("flip-bytes", 1)
    ),
}


EXCUSED = {
    "log start that retention moved": {("GEN-15", DELETED_BY_SETTING)},
    "low watermark of a topic from before the history": {("GEN-15", WRITTEN_BEFORE)},
    "log start after a fault that had segments deleted": {("GEN-15", MOVED_BY_FAULT)},
    "log start after a fault that had segments of the whole topic deleted": {("GEN-15", MOVED_BY_FAULT)},
    "fenced replica that is registered again": {("KIP101-INV-16", REGISTERED_AGAIN)},
    "high watermark that rose while the answer was made": {
        (row, RISEN) for row in ("GEN-17", "KIP320-FETCH-04", "KIP320-FETCH-07")
    },
    "record that a fault appended": {("GEN-16", APPENDED_BY_FAULT)},
    "wrong CRC after bytes were flipped": {("GEN-16", BYTES_FLIPPED)},
    "low watermark of a request that timed out": {("KIP320-DR-02", DELETION_TIMED_OUT)},
}
"""The legal histories that leave a row undecided, with the names of the excuses."""


def found(history: LogHistory) -> tuple[set[str], set[tuple[str, Evidence]]]:
    """The rows that are broken, and those that are left undecided with their excuses."""
    results = judge_history(JUDGES, history.history)
    violated = {one.requirement for one in results.observations if one.result == "violated"}
    return violated, {(one.requirement, named(one.excuse)) for one in results.excuses}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_history_breaks_its_rows(name: str) -> None:
    history, rows = BAD[name]
    broken, excused = found(history())
    assert broken >= rows
    assert {(row, evidence) for row, evidence in excused if evidence.kind != "left-out"} == set()


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_history_near_by_breaks_nothing(name: str) -> None:
    assert found(LEGAL[name]()) == (set(), EXCUSED.get(name, set()))
