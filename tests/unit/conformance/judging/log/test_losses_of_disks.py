"""Losses of disks that are permitted, each next to a similar history in which something else held the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from conformance.judging.excuses import (
    DISK_LOST_BY_FAULT,
    DISKS_OF_MIN_ISR_LOST,
    EPOCH_FILE_LOST_BY_FAULT,
    Evidence,
)
from conformance.judging.log import records
from conformance.judging.log.damage import CHECKPOINT_TIMEOUT
from conformance.judging.log.permitted_losses import PermittedLosses
from conformance.judging.timeline import MIN_ISR
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused, held, partition_story

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")
KEPT = records.acknowledged_records_are_kept
STABLE = records.consumed_records_are_never_replaced


def permissions(history: LogHistory) -> list[Evidence]:
    return [loss.by for loss in PermittedLosses(partition_story(history)).all]


def acknowledged(min_insync_replicas: str = "2") -> LogHistory:
    """`a` and `b` are acknowledged with acks=all at epoch 0."""
    history = LogHistory().created(min_insync_replicas=min_insync_replicas)
    return history.settled(1, 0).produce(1, "a", "b", at=0)


class TestDamagedReplicas:
    def damaged(self, isr: tuple[int, ...]) -> LogHistory:
        history = acknowledged().hit("cut-tail-above", 2, partition="topic-0").settled(1, 0, isr=isr)
        return history.start(2)

    def test_a_damaged_replica_from_outside_the_isr_leads(self) -> None:
        history = self.damaged((1, 3)).settled(2, 1, isr=(2,)).whole(2, A, epoch=1, hw=1)
        assert broken(KEPT, history) == ["kept"]

    def test_an_undamaged_replica_leads(self) -> None:
        history = self.damaged((1, 3)).settled(3, 1, isr=(3,)).whole(3, A, epoch=1, hw=1)
        assert broken(KEPT, history) == ["kept"]

    @pytest.mark.parametrize("described", ["metadata", "eligible", "log"])
    def test_a_damaged_replica_that_alone_was_electable_leads(self, described: str) -> None:
        history = self.damaged((1, 2)).metadata(1, -1, 1, isr=(2,))
        if described == "eligible":
            history.metadata(1, -1, 1, isr=()).described(1, -1, 1, eligible=(2,))
        if described == "log":
            history.metadata(1, -1, 1, isr=()).word(-1, 1, isr=(), eligible=(2,))
        history.settled(2, 2, isr=(2,)).whole(2, A, epoch=2, hw=1)
        assert broken(KEPT, history) == []  # with eligible leader replicas GEN-09 permits less
        assert permissions(history) == [DISK_LOST_BY_FAULT]
        assert excused(KEPT, history) == [("kept", DISK_LOST_BY_FAULT)]

    def test_one_that_had_fetched_what_it_lacked(self) -> None:
        history = self.damaged((1, 3)).settled(1, 0, isr=(1, 2, 3)).settled(2, 1).whole(2, A, epoch=1, hw=1)
        assert broken(KEPT, history) == ["kept"]

    def test_one_that_went_on_leading_at_its_epoch(self) -> None:
        history = acknowledged().hit("cut-tail-above", 1, partition="topic-0").start(1).whole(1, A, epoch=0, hw=1)
        assert broken(KEPT, history) == []
        assert permissions(history) == [DISK_LOST_BY_FAULT]
        assert excused(KEPT, history) == [("kept", DISK_LOST_BY_FAULT)]

    def test_one_that_was_healed_by_its_own_election(self) -> None:
        history = self.wiped().metadata(3, -1, 1, isr=(2,)).heal("wipe-disk", 2).settled(2, 2, isr=(2,))
        history.whole(2, A, epoch=2, hw=1)
        assert excused(KEPT, history) == [("kept", DISK_LOST_BY_FAULT)]

    def test_one_that_was_healed_while_another_led(self) -> None:
        """It had a leader to copy from before that one was lost."""
        history = self.wiped().heal("wipe-disk", 2).metadata(3, -1, 1, isr=(2,)).settled(2, 2, isr=(2,))
        assert broken(KEPT, history.whole(2, A, epoch=2, hw=1)) == ["kept"]

    def test_one_that_was_healed_and_only_then_the_last_of_the_isr(self) -> None:
        history = self.wiped().metadata(3, 1, 1, isr=(1, 2)).heal("wipe-disk", 2).settled(2, 2, isr=(2,))
        assert broken(KEPT, history.whole(2, A, epoch=2, hw=1)) == ["kept"]

    def alone(self, isr: tuple[int, ...] = (1,)) -> LogHistory:
        """The leader lost its disk, alone in its ISR as described before; no broker was alive that would have described more."""
        return acknowledged().settled(1, 0, isr=isr).kill(2).kill(3).hit("wipe-disk", 1)

    def led_again(self, history: LogHistory, epoch: int = 2) -> LogHistory:
        """All are started before a broker describes anything; `b` is gone."""
        history.heal("wipe-disk", 1).start(2).start(3).settled(1, epoch, isr=(1, 2, 3))
        return history.whole(1, A, epoch=epoch, hw=1)

    def test_the_last_in_sync_leads_again_when_all_were_down(self) -> None:
        history = self.led_again(self.alone())
        assert broken(KEPT, history) == []
        assert permissions(history) == [DISK_LOST_BY_FAULT]
        assert excused(KEPT, history) == [("kept", DISK_LOST_BY_FAULT)]

    @pytest.mark.parametrize("isr", [(1, 2), (2,)])
    def test_it_was_not_alone_in_sync_before_the_fault(self, isr: tuple[int, ...]) -> None:
        assert broken(KEPT, self.led_again(self.alone(isr))) == ["kept"]

    def test_it_was_alone_in_sync_until_another_rejoined(self) -> None:
        history = acknowledged().settled(1, 0, isr=(1,)).settled(1, 0, isr=(1, 2)).hit("wipe-disk", 1)
        assert broken(KEPT, self.led_again(history)) == ["kept"]

    def test_it_was_alone_in_sync_only_by_a_description_after_the_fault(self) -> None:
        history = self.alone((1, 2)).metadata(3, 1, 0, isr=(1,))
        assert broken(KEPT, self.led_again(history)) == ["kept"]

    def test_it_was_alone_in_sync_only_by_another_broker(self) -> None:
        """One that lags may describe an ISR that has grown since."""
        history = acknowledged().settled(1, 0, isr=(1,)).metadata(1, 1, 0, isr=(1, 2)).metadata(3, 1, 0, isr=(1,))
        assert broken(KEPT, self.led_again(history.hit("wipe-disk", 1))) == ["kept"]

    def test_another_was_in_sync_by_a_description_after_the_fault(self) -> None:
        assert broken(KEPT, self.led_again(self.alone().metadata(3, 1, 0, isr=(1, 2)))) == ["kept"]

    def test_another_was_in_sync_by_a_broker_that_heard_no_more_of_the_controllers(self) -> None:
        history = (
            acknowledged().hit("cut-off-from-controllers", 3).settled(1, 0, isr=(1, 2, 3)).metadata(1, 1, 0, isr=(1,))
        )
        history.hit("wipe-disk", 1).metadata(3, 1, 0, isr=(1, 2, 3)).heal("cut-off-from-controllers", 3)
        assert broken(KEPT, self.led_again(history)) == []

    def test_it_was_isolated_and_there_was_no_leader_any_more(self) -> None:
        history = acknowledged().settled(1, 0, isr=(1,)).hit("isolate", 1).metadata(2, -1, 1, isr=(1,))
        assert broken(KEPT, self.led_again(history.hit("wipe-disk", 1).heal("isolate", 1))) == []

    def test_epochs_passed_that_were_not_described(self) -> None:
        assert broken(KEPT, self.led_again(self.alone(), epoch=3)) == ["kept"]

    def test_the_elr_was_described_only_with_a_larger_isr(self) -> None:
        history = acknowledged().described(1, 1, 0, isr=(1, 3)).settled(1, 0, isr=(1,)).hit("wipe-disk", 1)
        assert broken(KEPT, self.led_again(history)) == ["kept"]

    @pytest.mark.parametrize(("fault", "expected"), [("kill", []), ("stop", ["kept"]), ("", ["kept"])])
    def test_another_was_eligible_unless_it_was_killed(self, fault: str, expected: list[str]) -> None:
        history = acknowledged().settled(1, 0, isr=(1,)).described(1, 1, 0, isr=(1,), eligible=(2,))
        if fault:
            history.hit(fault, 2)
        history.hit("wipe-disk", 1).heal("wipe-disk", 1)
        if fault:
            history.heal(fault, 2)
        history.settled(1, 2, isr=(1, 2, 3)).whole(1, A, epoch=2, hw=1)
        assert broken(KEPT, history) == expected

    @pytest.mark.parametrize("described", ["metadata", "described"])
    def test_another_led_before_it_led_again(self, described: str) -> None:
        history = self.alone()
        getattr(history, described)(3, 3, 1, isr=(1, 3))
        history.heal("wipe-disk", 1).metadata(3, -1, 2, isr=(1,))
        assert broken(KEPT, self.led_again(history, epoch=3)) == ["kept"]

    def test_what_it_acknowledged_after_the_fault(self) -> None:
        history = self.alone().produce(1, "c", at=2)
        assert broken(KEPT, self.led_again(history)) == ["kept"]

    def wiped(self) -> LogHistory:
        return acknowledged().settled(1, 0, isr=(1, 2)).hit("wipe-disk", 2)

    def test_its_successor_had_everything(self) -> None:
        history = (
            acknowledged().hit("cut-tail-above", 1, partition="topic-0").settled(2, 1).whole(2, A, B, epoch=1, hw=2)
        )
        history.settled(3, 2).whole(3, A, epoch=2, hw=1)
        assert broken(KEPT, history) == ["kept"]

    def test_as_many_as_acks_all_may_have_waited_for(self) -> None:
        history = acknowledged()
        for broker in (1, 3):
            history.hit("cut-tail-above", broker, partition="topic-0")
        assert permissions(history.settled(2, 1)) == [DISKS_OF_MIN_ISR_LOST]


class TestDisksOfTheIsr:
    """`b` may be gone if all that acks=all waited for lost it, with the leader among them."""

    def wiped(self, *nodes: int, least: str = "1") -> LogHistory:
        history = acknowledged(least)
        for node in nodes:
            history.hit("wipe-disk", node)
        return history

    def lost(self, history: LogHistory, epoch: int = 1) -> LogHistory:
        return history.settled(2, epoch).whole(2, A, epoch=epoch, hw=1)

    def test_one_follower_that_lost_its_disk_permits_nothing(self) -> None:
        """1 and 2, never touched and always in sync, lose the record in a clean election."""
        history = self.wiped(3)
        assert broken(KEPT, self.lost(history)) == ["kept"]

    def test_the_leader_alone_may_have_held_it(self) -> None:
        assert excused(KEPT, self.lost(self.wiped(1))) == [("kept", DISKS_OF_MIN_ISR_LOST)]

    def test_replicas_out_of_the_isr_do_not_count(self) -> None:
        history = acknowledged().settled(1, 0, isr=(1, 2)).hit("wipe-disk", 3).hit("wipe-disk", 1)
        assert broken(KEPT, self.lost(history)) == ["kept"]
        history = acknowledged().hit("wipe-disk", 3).settled(1, 0, isr=(1, 2)).hit("wipe-disk", 1)
        assert excused(KEPT, self.lost(history)) == [("kept", DISKS_OF_MIN_ISR_LOST)]

    def test_a_follower_that_may_have_led_while_the_leader_was_down(self) -> None:
        down = self.wiped(3).kill(1).start(1)
        assert excused(KEPT, self.lost(down, epoch=2)) == [("kept", DISKS_OF_MIN_ISR_LOST)]
        assert broken(KEPT, self.lost(self.wiped(3).kill(1).start(1))) == ["kept"]
        assert broken(KEPT, self.lost(self.wiped(3).kill(2).start(2), epoch=2)) == ["kept"]

    def lowered(self, *, before: bool, **how: Any) -> LogHistory:
        """min.insync.replicas becomes 1, and 1 loses its disk."""
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0)
        if before:
            history.altered(MIN_ISR, "1", **how)
        history.produce(1, "a", "b", at=0)
        if not before:
            history.altered(MIN_ISR, "1", **how)
        return self.lost(history.hit("wipe-disk", 1))

    @pytest.mark.parametrize("lost", [False, True])
    def test_a_setting_counts_only_while_the_record_was_written(self, lost: bool) -> None:
        assert broken(KEPT, self.lowered(before=False, lost=lost)) == ["kept"]
        assert excused(KEPT, self.lowered(before=True, lost=lost)) == [("kept", DISKS_OF_MIN_ISR_LOST)]

    def test_a_setting_that_was_refused(self) -> None:
        assert broken(KEPT, self.lowered(before=True, error=Error.INVALID_CONFIG)) == ["kept"]

    def test_a_setting_that_is_altered_after_the_loss(self) -> None:
        history = self.lost(self.wiped(1, least="2")).altered(MIN_ISR, "1")
        assert broken(KEPT, history) == ["kept"]


class TestCutLogs:
    """`b` is at offset 1: a cut that left the log end 2 does not explain that it is gone."""

    def elected(self, end: int) -> LogHistory:
        return acknowledged().cut(2, end=end).metadata(1, -1, 1, isr=(2,)).settled(2, 2, isr=(2,))

    def led_on(self, end: int) -> LogHistory:
        return acknowledged().cut(1, end=end).start(1)

    def alone(self, end: int) -> LogHistory:
        history = acknowledged().settled(1, 0, isr=(1,)).kill(2).kill(3).cut(1, end=end)
        return history.heal("cut-tail-above", 1).start(2).start(3).settled(1, 2)

    @pytest.mark.parametrize(
        ("cut", "node", "epoch", "by"),
        [
            ("elected", 2, 2, DISK_LOST_BY_FAULT),
            ("led_on", 1, 0, DISK_LOST_BY_FAULT),
            ("alone", 1, 2, DISK_LOST_BY_FAULT),
        ],
    )
    def test_what_was_below_the_cut(self, cut: str, node: int, epoch: int, by: Evidence) -> None:
        lost = [getattr(self, cut)(end).whole(node, A, epoch=epoch, hw=1) for end in (1, 2)]
        assert [broken(KEPT, history) for history in lost] == [[], ["kept"]]
        assert excused(KEPT, lost[0]) == [("kept", by)]

    def test_a_record_is_lost_if_it_was_cut_off_as_many_logs_as_it_was_on(self) -> None:
        for first, second, expected in ((1, 1, []), (1, 2, ["kept"]), (2, 1, ["kept"]), (2, 2, ["kept"])):
            history = acknowledged().cut(1, end=first).cut(3, end=second).settled(2, 1).whole(2, A, epoch=1, hw=1)
            assert broken(KEPT, history) == expected

    def test_the_cut_of_a_fixed_schedule(self) -> None:
        for end, expected in ((1, []), (2, ["kept"])):
            history = acknowledged().cut(2, end=end, scheduled=True).metadata(1, -1, 1, isr=(2,))
            assert broken(KEPT, history.settled(2, 2, isr=(2,)).whole(2, A, epoch=2, hw=1)) == expected

    @pytest.mark.parametrize("scheduled", [True, False])
    def test_a_later_cut_of_another_partition_on_the_same_node(self, scheduled: bool) -> None:
        """Each cut keeps the log end that its own witness shows."""
        for end, other, expected in ((1, 2, []), (2, 1, ["kept"])):
            history = acknowledged().cut(2, end=end, scheduled=scheduled)
            history.cut(2, end=other, scheduled=scheduled, partition="topic-1").metadata(1, -1, 1, isr=(2,))
            assert broken(KEPT, history.settled(2, 2, isr=(2,)).whole(2, A, epoch=2, hw=1)) == expected

    def test_a_disk_that_was_replaced_after_a_cut(self) -> None:
        history = acknowledged().cut(2, end=2).hit("wipe-disk", 2).metadata(1, -1, 1, isr=(2,)).settled(2, 2, isr=(2,))
        assert broken(KEPT, history.whole(2, A, epoch=2, hw=1)) == []

    def test_what_was_read_below_the_cut_is_replaced(self) -> None:
        for end, expected in ((1, []), (2, ["leader"])):
            history = acknowledged().fetch(1, A, B, epoch=0, hw=2).cut(2, end=end).metadata(1, -1, 1, isr=(2,))
            history.settled(2, 2, isr=(2,)).fetch(2, A, stamped(2, 1, "x"), epoch=2, hw=2)
            assert broken(STABLE, history) == expected


class TestUnseenSuccessors:
    """Replica 1 of two leads, is cut off, and shows a consumer what it has; then 2, which had it too, loses its disk."""

    def shown(self, *before: str, isrs: Sequence[tuple[int, ...]] = ((1, 2),)) -> LogHistory:
        """At epoch 3 the log begins again; no broker describes epochs 1 and 2."""
        history = LogHistory().created(min_insync_replicas="1")
        for isr in isrs:
            history.settled(1, 0, replicas=(1, 2), isr=isr)
        history.produce(1, "a", at=0)
        for fault in before:
            history.hit(fault, 1)
        history.hit("wipe-disk", 2).fetch(1, A, epoch=0, hw=1).heal("wipe-disk", 2)
        return history.settled(1, 3, replicas=(1, 2), isr=(1, 2)).fetch(1, stamped(3, 0, "c"), epoch=3, hw=1)

    @pytest.mark.parametrize("fault", ["isolate", "pause-past-fencing"])
    def test_a_former_leader_shows_what_its_successor_lost(self, fault: str) -> None:
        assert broken(STABLE, self.shown(fault)) == []
        assert excused(STABLE, self.shown(fault)) == [("leader", DISKS_OF_MIN_ISR_LOST)]

    def test_a_leader_that_hears_the_controllers(self) -> None:
        assert broken(STABLE, self.shown()) == ["leader"]

    @pytest.mark.parametrize("isrs", [[(1,)], [(1,), (1, 2), (1,)]], ids=["ever since", "again"])
    def test_a_leader_that_is_alone_in_its_isr(self, isrs: list[tuple[int, ...]]) -> None:
        assert broken(STABLE, self.shown("isolate", isrs=isrs)) == ["leader"]

    def test_a_leader_whose_isr_is_whole_again(self) -> None:
        assert broken(STABLE, self.shown("isolate", isrs=[(1, 2), (1,), (1, 2)])) == []


class TestLostEpochFiles:
    def lost(self) -> LogHistory:
        return acknowledged().hit("remove-epoch-checkpoint", 2, partition="topic-0")

    def test_the_replica_leads(self) -> None:
        history = self.lost().settled(2, 1).whole(2, A, epoch=1, hw=1)
        assert held(KEPT, history) == []
        assert permissions(history) == [EPOCH_FILE_LOST_BY_FAULT]
        assert excused(KEPT, history) == [("kept", EPOCH_FILE_LOST_BY_FAULT)]

    def test_it_keeps_what_is_below_its_high_watermark(self) -> None:
        """It truncates to the high watermark on its disk, which is written each 5 s."""
        for waited, expected in ((0.0, []), (CHECKPOINT_TIMEOUT + 1, ["kept"])):
            history = acknowledged().fetch(2, A, B, epoch=0, hw=2).later(waited)
            history.hit("remove-epoch-checkpoint", 2, partition="topic-0").settled(2, 1)
            assert broken(KEPT, history.whole(2, A, epoch=1, hw=1)) == expected

    def test_it_was_frozen_and_wrote_no_high_watermark(self) -> None:
        history = (
            acknowledged().fetch(2, A, B, epoch=0, hw=2).hit("pause-past-fencing", 2).later(CHECKPOINT_TIMEOUT + 1)
        )
        history.heal("pause-past-fencing", 2).hit("remove-epoch-checkpoint", 2, partition="topic-0").settled(2, 1)
        assert excused(KEPT, history.whole(2, A, epoch=1, hw=1)) == [("kept", EPOCH_FILE_LOST_BY_FAULT)]

    def test_it_lost_its_high_watermark_too(self) -> None:
        effects = Effects(disk=("watermark-checkpoint",), every_partition=True)
        history = (
            acknowledged().fetch(2, A, B, epoch=0, hw=2).later(CHECKPOINT_TIMEOUT + 1).hit("any", 2, effects=effects)
        )
        history.hit("remove-epoch-checkpoint", 2, partition="topic-0").settled(2, 1)
        assert excused(KEPT, history.whole(2, A, epoch=1, hw=1)) == [("kept", EPOCH_FILE_LOST_BY_FAULT)]

    def test_another_leads(self) -> None:
        assert broken(KEPT, self.lost().settled(3, 1).whole(3, A, epoch=1, hw=1)) == ["kept"]

    def test_the_replica_leads_after_it_was_healed(self) -> None:
        history = self.lost().heal("remove-epoch-checkpoint", 2).settled(2, 1).whole(2, A, epoch=1, hw=1)
        assert broken(KEPT, history) == ["kept"]
