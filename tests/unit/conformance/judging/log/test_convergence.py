"""The judges of what replicas come to: each catches what it is there for, and is silent on an honest history."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import DISK_REPLACED, EPOCH_CACHE_LOST, EPOCHS_LOST, LOOKED_TOO_RARELY, NOT_AT_REST
from conformance.judging.log import convergence
from protocol.records import Batch
from tests.support.histories import BROKERS, LogHistory, held_on_disk, stamped
from tests.support.judging import broken, excused, held, judged_by

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
LATER_B = stamped(1, 1, "b2")
LOG = (A, LATER_B)
MAP = ((0, 0), (1, 1))


def ended(
    history: LogHistory, *logs: tuple[Batch, ...], epoch: int = 1, leader: int = 2, met: bool = True
) -> LogHistory:
    """The end of an example: the log of each broker, and a look at the partition."""
    history.all_healed().settled(leader, epoch).at_rest(met).metadata(1, leader, epoch)
    for broker, log in enumerate(logs, 1):
        history.whole(broker, *log, epoch=epoch, hw=log[-1].last_offset + 1 if log else 0)
    return history


def stuck(
    history: LogHistory,
    *logs: tuple[Batch, ...],
    isr: tuple[int, ...] = (1, 2),
    seconds: float = 33,
    asleep: float = 0.0,
) -> LogHistory:
    """All is healed and all brokers are alive, but 3 does not come back in time."""
    history.all_healed().settled(2, 1, isr=isr).asleep(asleep).later(seconds).settled(2, 1, isr=isr).at_rest(met=False)
    history.metadata(1, 2, 1, isr=isr)
    for broker, log in enumerate(logs, 1):
        history.whole(broker, *log, epoch=1, hw=2)
    return history


def quiet(history: LogHistory) -> LogHistory:
    """All have the log and are in sync, but 3 does not hear of the high watermark."""
    history.all_healed().settled(2, 1).later(33).settled(2, 1).at_rest(met=False).metadata(1, 2, 1)
    for broker, mark in ((1, 2), (2, 2), (3, 0)):
        history.whole(broker, *LOG, epoch=1, hw=mark)
    return history


class TestAgreement:
    judge = convergence.replicas_agree_at_quiescence

    def test_equal_logs_and_a_full_isr(self) -> None:
        assert held(self.judge, ended(LogHistory(), LOG, LOG, LOG)) == ["isr"] * 3 + ["logs", "watermark"] * 2

    def test_another_record_under_the_same_offsets(self) -> None:
        history = ended(LogHistory(), LOG, LOG, (A, stamped(1, 1, "x")))
        assert broken(self.judge, history) == ["logs"]
        assert judged_by(self.judge, history)[-1].label == "divergent-prefix"

    def test_another_stamp(self) -> None:
        assert broken(self.judge, ended(LogHistory(), LOG, LOG, (A, stamped(0, 1, "b2")))) == ["logs"]

    def test_log_starts_that_differ(self) -> None:
        history = ended(LogHistory(), LOG, LOG).whole(3, LATER_B, epoch=1, hw=2, start=1)
        assert held(self.judge, history) == ["isr"] * 3 + ["logs", "watermark"] * 2

    def test_files_that_are_equal(self) -> None:
        history = ended(LogHistory(), LOG, LOG, LOG).on_disk(*(held_on_disk(n, *LOG, epochs=MAP) for n in BROKERS))
        assert held(self.judge, history)[7:] == ["logs", "maps"] * 2

    def test_bytes_on_disk_that_differ(self) -> None:
        other = held_on_disk(3, A, stamped(1, 1, "x"), epochs=MAP)
        history = ended(LogHistory(), LOG, LOG, LOG).on_disk(held_on_disk(2, *LOG, epochs=MAP), other)
        assert broken(self.judge, history) == ["logs"]

    @pytest.mark.parametrize(
        "epochs", [((0, 0),), ((0, 0), (1, 2)), None], ids=["no entry", "a later start", "no file"]
    )
    def test_a_map_without_an_epoch_that_holds_records(self, epochs: tuple[tuple[int, int], ...] | None) -> None:
        disk = held_on_disk(2, *LOG, epochs=MAP), held_on_disk(3, *LOG, epochs=epochs)
        assert broken(self.judge, ended(LogHistory(), LOG, LOG, LOG).on_disk(*disk)) == ["maps"]

    def test_entries_of_epochs_without_records_and_trimmed_heads_may_differ(self) -> None:
        disk = held_on_disk(2, *LOG, epochs=(*MAP, (2, 2))), held_on_disk(3, LATER_B, epochs=((1, 1),), start=1)
        history = ended(LogHistory(), LOG, LOG, LOG).on_disk(*disk)
        assert held(self.judge, history)[-2:] == ["logs", "maps"]

    def test_a_crash_that_sets_the_log_start_back_behind_a_map_that_was_trimmed(self) -> None:
        disk = held_on_disk(2, *LOG, epochs=((1, 1),)), held_on_disk(3, *LOG, epochs=MAP)
        history = ended(LogHistory().settled(2, 1).trim(2, 1).restart(2), LOG, LOG, LOG).on_disk(*disk)
        assert {(o.case, o.result) for o in judged_by(self.judge, history)[7:]} == {("logs", "held"), ("maps", "held")}

    def test_a_replica_that_never_comes_back(self) -> None:
        history = stuck(LogHistory(), LOG, LOG)
        assert broken(self.judge, history) == ["isr"]
        assert {o.label for o in judged_by(self.judge, history)} == {"", "stuck"}

    def test_a_host_that_slept_until_the_time_was_up(self) -> None:
        history = stuck(LogHistory(), LOG, LOG, seconds=15, asleep=20)
        assert (broken(self.judge, history), excused(self.judge, history)) == ([], [("isr", LOOKED_TOO_RARELY)])
        short = stuck(LogHistory(), LOG, LOG, seconds=33, asleep=7)
        assert (broken(self.judge, short), excused(self.judge, short)) == (["isr"], [])

    def test_a_wait_that_recorded_how_late_the_kit_woke(self) -> None:
        def ends(late: float) -> LogHistory:
            history = LogHistory().all_healed().settled(2, 1, isr=(1, 2)).later(33).settled(2, 1, isr=(1, 2))
            return history.in_vain(late).at_rest(met=False).metadata(1, 2, 1, isr=(1, 2))

        assert (broken(self.judge, ends(8)), excused(self.judge, ends(8))) == (["isr"], [])
        assert (broken(self.judge, ends(9)), excused(self.judge, ends(9))) == ([], [("isr", LOOKED_TOO_RARELY)])

    def test_a_log_that_is_never_copied(self) -> None:
        assert broken(self.judge, stuck(LogHistory(), LOG, LOG, (A,), isr=BROKERS)) == ["logs"]

    def test_a_high_watermark_of_the_leader_that_stays_behind(self) -> None:
        history = LogHistory().all_healed().settled(2, 1).later(33).settled(2, 1).at_rest(met=False).metadata(1, 2, 1)
        for broker in BROKERS:
            history.whole(broker, *LOG, epoch=1, hw=1)
        assert broken(self.judge, history) == ["logs"] * 2

    def test_a_high_watermark_that_stays_behind(self) -> None:
        assert broken(self.judge, quiet(LogHistory())) == ["watermark"]
        assert judged_by(self.judge, quiet(LogHistory()))[-1].label == "stuck"

    def test_a_partition_that_nobody_leads(self) -> None:
        history = LogHistory().all_healed().later(30).settled(-1, 3, isr=(2,)).at_rest(met=False)
        assert broken(self.judge, history.metadata(1, -1, 3, isr=(2,))) == ["isr"] * 3

    @pytest.mark.parametrize(("isr", "lost"), [((2,), (2,)), ((), (1, 2, 3))], ids=["the ISR", "all, of an empty ISR"])
    def test_a_partition_whose_disks_were_replaced(self, isr: tuple[int, ...], lost: tuple[int, ...]) -> None:
        history = LogHistory().hit("wipe-disk", *lost).heal("wipe-disk", *lost).all_healed().later(30)
        history.settled(-1, 3, isr=isr).at_rest(met=False).metadata(1, -1, 3, isr=isr)
        assert broken(self.judge, history) == []
        assert excused(self.judge, history) == [("isr", DISK_REPLACED)]

    @pytest.mark.parametrize(
        ("fault", "leader", "isr", "lost"),
        [
            ("wipe-disk", -1, (2, 3), (2,)),
            ("wipe-disk", -1, (), (1, 2)),
            ("kill", -1, (2,), (2,)),
            ("wipe-disk", 2, (2,), (2,)),
        ],
        ids=["another may lead", "any may lead", "only killed", "it leads"],
    )
    def test_a_partition_that_a_replaced_disk_does_not_explain(
        self, fault: str, leader: int, isr: tuple[int, ...], lost: tuple[int, ...]
    ) -> None:
        history = LogHistory().hit(fault, *lost).heal(fault, *lost).all_healed().later(30)
        history.settled(leader, 3, isr=isr).at_rest(met=False).metadata(1, leader, 3, isr=isr)
        assert set(broken(self.judge, history)) == {"isr"}

    def test_a_broker_that_was_fenced_a_moment_before_the_time_ran_out(self) -> None:
        history = LogHistory().all_healed().later(30).metadata(1, 2, 1, isr=(1, 2), unfenced=(1, 2))
        assert "isr" in held(self.judge, stuck(history, LOG, LOG, seconds=2))

    def fenced(self, history: LogHistory) -> LogHistory:
        """No broker lists 3 as alive to the end of the wait for agreement, and it is out of the ISR."""
        history.all_healed()
        for seconds in (18, 15, 0):
            history.settled(2, 1, isr=(1, 2), unfenced=(1, 2)).later(seconds)
        return history.at_rest(met=False).metadata(1, 2, 1, isr=(1, 2), unfenced=(1, 2))

    def test_a_broker_that_stays_fenced(self) -> None:
        assert broken(self.judge, self.fenced(LogHistory().settled(2, 1))) == ["isr"]
        assert broken(self.judge, self.fenced(LogHistory().settled(2, 1).restart(3).later(60))) == ["isr"]

    def test_a_broker_that_is_starting(self) -> None:
        history = self.fenced(LogHistory().settled(2, 1).restart(3).later(20))
        assert broken(self.judge, history) == []
        assert ("isr", NOT_AT_REST) in excused(self.judge, history)

    def test_a_broker_that_did_not_answer_to_the_end(self) -> None:
        history = LogHistory().all_healed().settled(2, 1).later(33).metadata(1, 2, 1, isr=(1, 2)).at_rest(met=False)
        assert held(self.judge, history.metadata(1, 2, 1, isr=(1, 2))) == ["isr"] * 2

    def test_a_fault_that_was_not_healed(self) -> None:
        assert held(self.judge, stuck(LogHistory().hit("isolate", 3), LOG, LOG)) == ["isr"] * 2 + ["logs", "watermark"]

    def test_a_look_after_the_rest_at_a_broker_that_was_slow(self) -> None:
        history = ended(LogHistory(), LOG, LOG, LOG).metadata(1, 2, 1, isr=(1, 2), unfenced=(1, 2))
        assert held(self.judge, history) == ["isr"] * 2 + ["logs", "watermark"] * 2

    def test_replicas_that_may_differ(self) -> None:
        history = LogHistory().settled(2, 1).hit("flip-bytes", 3).heal("flip-bytes", 3)
        assert [o.result for o in judged_by(self.judge, ended(history, LOG, LOG, (A, stamped(1, 1, "x"))))] == []

    def test_a_replica_that_lost_its_epochs_agrees_once_it_is_in_the_isr_again(self) -> None:
        lost = LogHistory().settled(2, 1).hit("remove-epoch-checkpoint", 3).heal("remove-epoch-checkpoint", 3)
        assert broken(self.judge, ended(lost, LOG, LOG, (A, stamped(1, 1, "x")))) == ["logs"]

    @pytest.mark.parametrize(
        ("log", "cases"), [((A, stamped(1, 1, "x")), ["isr"]), ((stamped(0, 0, "x"),), ["isr", "logs"])]
    )
    def test_until_then_it_may_keep_a_suffix_above_its_high_watermark(
        self, log: tuple[Batch, ...], cases: list[str]
    ) -> None:
        history = LogHistory().settled(2, 1).whole(3, A, epoch=1, hw=1)
        history.hit("remove-epoch-checkpoint", 3).heal("remove-epoch-checkpoint", 3)
        history = stuck(history, LOG, LOG, log)
        assert broken(self.judge, history) == cases
        assert excused(self.judge, history) == ([] if "logs" in cases else [("logs", EPOCHS_LOST)])
        assert "watermark" not in {one.case for one in judged_by(self.judge, history)}

    def test_its_leader_epoch_cache_may_lack_epochs_that_it_did_not_fetch_again(self) -> None:
        lost = LogHistory().settled(2, 1).hit("remove-epoch-checkpoint", 3).heal("remove-epoch-checkpoint", 3)
        disk = held_on_disk(2, *LOG, epochs=MAP), held_on_disk(3, *LOG, epochs=((1, 1),))
        history = ended(lost, LOG, LOG, LOG).on_disk(*disk)
        assert broken(self.judge, history) == []
        assert excused(self.judge, history) == [("maps", EPOCH_CACHE_LOST)]

    def test_compacted_replicas_and_examples_without_an_end(self) -> None:
        history = LogHistory().created(cleanup_policy="compact").settled(2, 1)
        assert held(self.judge, ended(history, LOG, LOG, (LATER_B,))) == []
        assert held(self.judge, LogHistory().settled(2, 1).whole(1, A, epoch=1, hw=1)) == []


class TestHealedReplicas:
    judge = convergence.healed_replicas_converge

    def fenced(self) -> LogHistory:
        """3 was in the ISR at epoch 0, and is fenced when 2 leads at epoch 1."""
        return LogHistory().settled(1, 0).metadata(1, 2, 1, isr=(1, 2), unfenced=(1, 2))

    def tail(self) -> LogHistory:
        """3 led epoch 0 and took a record that its successor has not."""
        return LogHistory().settled(3, 0).produce(3, "b", at=1, acks=1).whole(3, A, B, epoch=0, hw=1).settled(2, 1)

    def test_a_follower_that_was_fenced_comes_back(self) -> None:
        assert held(self.judge, ended(self.fenced(), LOG, LOG, LOG)) == ["follower"]

    def test_a_follower_that_missed_no_epoch(self) -> None:
        """At its former epoch it had nothing to truncate; one that does not come back still breaks the row."""
        history = LogHistory().settled(2, 1).metadata(1, 2, 1, isr=(1, 2), unfenced=(1, 2))
        assert held(self.judge, ended(history, LOG, LOG, LOG)) == []
        history = LogHistory().settled(2, 1).metadata(1, 2, 1, isr=(1, 2), unfenced=(1, 2))
        assert broken(self.judge, stuck(history, LOG, LOG)) == ["follower"]

    def test_an_old_leader_drops_its_tail(self) -> None:
        assert held(self.judge, ended(self.tail(), LOG, LOG, LOG)) == ["leader"]
        unread = LogHistory().settled(3, 0).produce(3, "b", at=1, acks=1).settled(2, 1)
        assert held(self.judge, ended(unread, LOG, LOG, LOG)) == ["leader"]

    def test_one_that_does_not_come_back(self) -> None:
        assert broken(self.judge, stuck(self.fenced(), LOG, LOG)) == ["follower"]
        slept = stuck(self.fenced(), LOG, LOG, seconds=15, asleep=20)
        assert (broken(self.judge, slept), excused(self.judge, slept)) == ([], [("follower", LOOKED_TOO_RARELY)])
        assert broken(self.judge, stuck(self.tail(), LOG, LOG, (A, B))) == ["leader"]
        assert judged_by(self.judge, stuck(self.tail(), LOG, LOG, (A, B)))[-1].label == "stuck"

    def test_one_that_keeps_its_tail_in_the_isr(self) -> None:
        history = ended(self.tail(), LOG, LOG, (A, B))
        assert broken(self.judge, history) == ["leader"]
        assert judged_by(self.judge, history)[-1].label == "divergent-prefix"

    def test_one_that_has_the_log_and_not_the_high_watermark(self) -> None:
        assert [(one.case, one.result) for one in judged_by(self.judge, quiet(self.fenced()))] == [("follower", "held")]

    def test_replicas_that_were_never_away(self) -> None:
        history = LogHistory().settled(2, 1).produce(2, "a", at=0).whole(2, A, epoch=1, hw=1)
        assert held(self.judge, ended(history, (A,), (A,), (A,))) == []

    def test_what_lost_its_disk_had_no_tail_for_certain(self) -> None:
        history = self.tail().hit("cut-tail-above", 3).heal("cut-tail-above", 3)
        assert held(self.judge, ended(history, LOG, LOG, LOG)) == []
