"""Lost disks: bad histories of GEN-09 (case `disks`) and its later row, each next to a legal one that comes close."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import ELECTED_UNCLEANLY_ON_REQUEST, MIN_ISR_ALTERED
from conformance.judging.judge import judge_history
from conformance.judging.log.disks import OUTLIVES_DISKS
from history.effects import Effects
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused, judged_by

LAW, LATER = OUTLIVES_DISKS
A, B = stamped(0, 0, "a"), stamped(0, 1, "b")


def acknowledged(min_insync_replicas: int = 2) -> LogHistory:
    """1 acknowledges `a` and `b` at epoch 0."""
    history = LogHistory().created(min_insync_replicas=str(min_insync_replicas))
    return history.settled(1, 0).produce(1, "a", "b", at=0)


def lose(history: LogHistory, *brokers: int) -> LogHistory:
    """These are killed, and come back without the end of their logs."""
    for broker in brokers:
        history.hit("cut-tail-above", broker, partition="topic-0")
    for broker in brokers:
        history.heal("cut-tail-above", broker)
    return history


def led(history: LogHistory, leader: int, *, gone: bool) -> LogHistory:
    kept = (A,) if gone else (A, B)
    return history.settled(leader, 1, isr=(leader,)).whole(leader, *kept, epoch=1, hw=len(kept))


def kept(history: LogHistory) -> list[str]:
    return [one.result for one in judged_by(LAW, history)]


@pytest.mark.parametrize(("m", "lost"), [(2, (2,)), (3, (2,)), (3, (2, 3))])
def test_fewer_disks_than_min_isr(m: int, lost: tuple[int, ...]) -> None:
    assert broken(LAW, led(lose(acknowledged(m), *lost), 2, gone=True)) == ["disks"]
    assert kept(led(lose(acknowledged(m), *lost), 2, gone=False)) == ["held"]


@pytest.mark.parametrize(("m", "lost"), [(1, (2,)), (2, (1, 2)), (3, (1, 2, 3))])
def test_as_many_disks_as_min_isr(m: int, lost: tuple[int, ...]) -> None:
    assert judge_history([LAW], led(lose(acknowledged(m), *lost), 2, gone=True).history).observations == []


def test_the_later_row_records_both() -> None:
    for gone, value in ((True, "does not keep"), (False, "keeps")):
        [one] = judged_by(LATER, led(lose(acknowledged(), 2), 2, gone=gone))
        assert (one.result, one.variant) == ("recorded", value)


def test_another_ended_without_a_shutdown() -> None:
    """Then neither ISR nor ELR may have a replica left that holds the record."""
    assert kept(led(lose(acknowledged().kill(3).start(3), 2), 2, gone=True)) == []
    assert broken(LAW, led(lose(acknowledged().hit("stop", 3).heal("stop", 3), 2), 2, gone=True)) == ["disks"]


@pytest.mark.parametrize("is_over", [False, True])
def test_another_is_killed_for_its_failed_directory_to_be_healed(is_over: bool) -> None:
    """That is after the write, though the directory failed before."""
    effects = Effects(process="restarts-when-healed", abrupt=True, fails_writes=True)
    history = LogHistory().created(min_insync_replicas="2").settled(1, 0)
    history.hit("failed-directory", 3, effects=effects, partition="other-0")
    history = history.heal("failed-directory", 3) if is_over else history
    lost = lose(history.produce(1, "a", "b", at=0), 2)
    lost = lost if is_over else lost.heal("failed-directory", 3)
    assert broken(LAW, led(lost, 2, gone=True)) == (["disks"] if is_over else [])


def test_the_disk_was_lost_before_the_write() -> None:
    history = lose(LogHistory().created(min_insync_replicas="2").settled(1, 0), 2).produce(1, "a", "b", at=0)
    assert kept(led(history, 2, gone=True)) == []


def test_the_disk_was_lost_after_a_controlled_shutdown() -> None:
    lost = Effects(process="down", disk=("log-dir",), every_partition=True)
    history = acknowledged().hit("wipe-disk", 2, effects=lost).heal("wipe-disk", 2)
    assert kept(led(history, 2, gone=True)) == []
    assert broken(LAW, led(acknowledged().kill(2).hit("wipe-disk", 2).start(2), 2, gone=True)) == ["disks"]


@pytest.mark.parametrize("value", ["1", None])
def test_min_insync_replicas_was_altered(value: str | None) -> None:
    """That empties the ELR."""
    history = led(lose(acknowledged().altered("min.insync.replicas", value), 2), 2, gone=True)
    assert kept(history) == []
    assert excused(LAW, history) == [("disks", MIN_ISR_ALTERED)]


def test_min_insync_replicas_was_altered_before_the_write_or_after_the_loss() -> None:
    before = LogHistory().created().settled(1, 0).altered("min.insync.replicas", "2").produce(1, "a", "b", at=0)
    assert broken(LAW, led(lose(before, 2), 2, gone=True)) == ["disks"]
    assert broken(LAW, led(lose(acknowledged(), 2), 2, gone=True).altered("min.insync.replicas", "1")) == ["disks"]


def test_no_leader_was_elected_since() -> None:
    history = lose(acknowledged(), 2).whole(1, A, B, epoch=0, hw=2)
    assert kept(history) == []


def test_an_administrator_permits_it() -> None:
    history = led(lose(acknowledged(), 2).elect_uncleanly(2), 2, gone=True)
    assert kept(history) == []
    assert excused(LAW, history) == [("disks", ELECTED_UNCLEANLY_ON_REQUEST)]


def test_a_last_known_leader_is_no_excuse() -> None:
    """While 3 keeps running and holds the record, ISR and ELR are not both empty."""
    history = lose(acknowledged(), 1).metadata(3, -1, 1, isr=())
    assert broken(LAW, history.settled(1, 2, isr=(1,)).whole(1, A, epoch=2, hw=1)) == ["disks"]


def test_a_partition_with_fewer_replicas_than_min_insync_replicas() -> None:
    """With two replicas acks=all waits for no third one, so that two lost disks may lose the record."""
    for replicas, expected in (((1, 2), []), ((1, 2, 3), ["disks"])):
        history = LogHistory().created(min_insync_replicas="3").settled(1, 0, replicas=replicas, isr=replicas)
        lose(history.produce(1, "a", "b", at=0), 1, 2)
        history.settled(2, 1, replicas=replicas, isr=(2,)).whole(2, A, epoch=1, hw=1)
        assert broken(LAW, history) == expected


@pytest.mark.parametrize(("replicas", "expected"), [((1, 3), []), ((3, 2, 1), ["disks"])])
def test_replicas_that_moved_meanwhile(replicas: tuple[int, ...], expected: list[str]) -> None:
    history = lose(acknowledged().reassigned(*replicas), 2)
    assert broken(LAW, led(history, 2, gone=True)) == expected
