"""The judges of a replicated log: each catches what it is there for, and says nothing against an honest history.

`caught` and `silent` are about what is said; a row that says nothing at all saw no premise.
"""

from __future__ import annotations

import msgspec
import pytest

from conformance.judges import log as judges
from conformance.judges.judge import Judge, judge_all
from conformance.judges.log import LOG_JUDGES
from conformance.kip101.log_machine import LOG_MACHINE
from fixtures.wire import Error
from history.observations import Observation
from tests.histories import LogHistory, stamped

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
LATER_B = stamped(1, 1, "b2")


def said(judge: Judge, told: LogHistory) -> list[Observation]:
    return judge(told.history)


def broken(judge: Judge, told: LogHistory) -> list[str]:
    """The cases in which the judge sees its row broken."""
    return [o.case for o in said(judge, told) if o.result == "violated"]


def held(judge: Judge, told: LogHistory) -> list[str]:
    """The cases it sees held, in a history in which nothing is broken by any judge."""
    everything = judge_all(LOG_JUDGES, told.history)
    assert [(o.requirement, o.case, o.detail) for o in everything if o.result == "violated"] == []
    return [o.case for o in said(judge, told)]


def test_the_machine_is_judged_by_all_of_them() -> None:
    assert LOG_MACHINE.judges == LOG_JUDGES
    assert len({one.row for one in LOG_JUDGES}) == len(LOG_JUDGES)


def test_an_observation_shows_its_events() -> None:
    told = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=2).whole(2, A, LATER_B, epoch=0, hw=2)
    [observation] = said(judges.no_future_stamps, told)[1:]
    assert (observation.requirement, observation.example, observation.result) == ("KIP101-INV-12", "e-1", "violated")
    assert [type(told.events[n]).__name__ for n in observation.events] == ["Answer"]
    assert "broker-2" in observation.detail
    assert observation.label == "fence-leak"


# --- one record per offset and epoch (KIP101-INV-01)


class TestOneRecordPerOffsetAndEpoch:
    judge = judges.one_record_per_offset_and_epoch

    def test_two_replicas_with_different_records_under_one_stamp(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1).whole(2, A, stamped(0, 1, "x"), epoch=0, hw=1)
        assert broken(self.judge, told) == ["replicas"]
        assert said(self.judge, told)[-1].label == "divergent-prefix"

    def test_one_replica_whose_record_changed_over_a_restart(self) -> None:
        told = (
            LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).restart(1).whole(1, stamped(0, 0, "x"), epoch=0, hw=1)
        )
        assert broken(self.judge, told) == ["time"]

    def test_one_replica_whose_record_changed_while_nothing_happened(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).whole(1, stamped(0, 0, "x"), epoch=0, hw=1)
        assert broken(self.judge, told) == ["time"]

    def test_a_timestamp_is_content_too(self) -> None:
        later = msgspec.structs.replace(A, records=(msgspec.structs.replace(A.records[0], timestamp=2),))
        told = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).whole(2, later, epoch=0, hw=1)
        assert broken(self.judge, told) == ["replicas"]

    def test_an_unacknowledged_tail_that_is_replaced_has_another_stamp(self) -> None:
        """acks=1 on a leader that dies: its successor writes something else at that offset, under its own epoch."""
        told = LogHistory().settled(1, 0).produce(1, "b", at=1, acks=1).whole(1, A, B, epoch=0, hw=1).kill(1)
        told.metadata(2, 2, 1).metadata(3, 2, 1).produce(2, "b2", at=1).whole(2, A, LATER_B, epoch=1, hw=2)
        told.start(1).settled(2, 1).whole(1, A, LATER_B, epoch=1, hw=2)
        assert held(self.judge, told) == ["replicas", "time", "replicas"]

    def test_reading_again_while_nothing_happened_is_no_new_instance(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).fetch(1, A, epoch=0, hw=1)
        assert held(self.judge, told) == []
        assert held(self.judge, told.restart(1).settled(1, 2).fetch(1, A, epoch=2, hw=1)) == ["time"]


# --- prefix agreement (KIP101-INV-02)


class TestPrefixAgreement:
    judge = judges.prefixes_agree

    def test_logs_that_differ_below_a_stamp_in_common(self) -> None:
        told = (
            LogHistory()
            .settled(1, 0)
            .whole(1, A, B, C, epoch=0, hw=1)
            .whole(2, stamped(0, 0, "x"), B, C, epoch=0, hw=1)
        )
        assert broken(self.judge, told) == ["prefix"]

    def test_a_gap_below_a_stamp_in_common(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=1).whole(2, A, C, epoch=0, hw=1)
        assert broken(self.judge, told) == ["prefix"]

    def test_another_stamp_below_a_stamp_in_common(self) -> None:
        top = stamped(2, 2, "c")
        again = stamped(1, 1, "b")
        told = LogHistory().settled(1, 2).whole(1, A, B, top, epoch=2, hw=1).whole(2, A, again, top, epoch=2, hw=1)
        assert broken(self.judge, told) == ["prefix"]

    def test_tails_that_diverge_above_the_last_stamp_in_common(self) -> None:
        told = LogHistory().settled(2, 1).whole(1, A, B, C, epoch=1, hw=1).whole(2, A, LATER_B, epoch=1, hw=1)
        assert held(self.judge, told) == ["prefix"]

    def test_log_starts_that_differ(self) -> None:
        """A new leader may begin lower than the one that was trimmed."""
        told = LogHistory().settled(1, 0).whole(1, B, C, epoch=0, hw=3, start=1).whole(2, A, B, C, epoch=0, hw=3)
        assert held(self.judge, told) == ["prefix"]

    def test_a_trim_into_the_middle_of_a_batch(self) -> None:
        """The whole batch is sent, and what lies below the fetch offset is not there for a reader."""
        three = stamped(0, 0, "a", "b", "c")
        told = LogHistory().settled(1, 0).whole(1, three, epoch=0, hw=3, start=2).whole(2, three, epoch=0, hw=3)
        assert held(self.judge, told) == ["prefix"]

    def test_nothing_in_common_is_no_instance(self) -> None:
        told = LogHistory().settled(2, 1).whole(1, A, epoch=1, hw=0).whole(2, stamped(1, 0, "x"), epoch=1, hw=0)
        assert held(self.judge, told.whole(3, epoch=1, hw=0)) == []

    def test_a_consumer_sees_no_tail_and_is_no_instance(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=3).fetch(2, A, C, epoch=0, hw=3)
        assert said(self.judge, told) == []


# --- stamps along the log (KIP101-INV-03)


class TestStampsAlongTheLog:
    judge = judges.stamps_never_decrease

    def test_an_older_stamp_above_a_newer_one(self) -> None:
        told = LogHistory().settled(1, 1).whole(2, stamped(1, 0, "a"), B, epoch=1, hw=0)
        assert broken(self.judge, told) == ["replica"]

    def test_stamps_that_rise_or_stay(self) -> None:
        told = LogHistory().settled(1, 4).whole(2, A, B, stamped(4, 2, "c"), epoch=4, hw=0)
        assert held(self.judge, told) == ["replica"]

    def test_one_record_or_none_shows_nothing(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).whole(2, epoch=0, hw=0)
        assert held(self.judge, told) == []


# --- committed means kept (KIP101-INV-05)


def written() -> LogHistory:
    """`a` and `b` acknowledged by all under epoch 0."""
    return LogHistory().settled(1, 0).produce(1, "a", "b", at=0)


def moved(told: LogHistory) -> LogHistory:
    """2 leads at epoch 1."""
    return told.move(1, 2).settled(2, 1)


BOTH = stamped(0, 0, "a", "b")


class TestCommittedMeansKept:
    judge = judges.committed_means_kept

    def test_a_record_that_the_next_leader_does_not_have(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, A, epoch=1, hw=1)) == ["kept"]

    def test_a_log_that_the_next_leader_lost_altogether(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, epoch=1, hw=0)) == ["kept", "kept"]

    def test_a_record_that_the_next_leader_overwrote(self) -> None:
        """Seen under the very epoch in which it was overwritten, and under later ones."""
        told = moved(written()).whole(2, A, LATER_B, epoch=1, hw=2)
        assert broken(self.judge, told) == ["kept"]
        told.move(2, 3).settled(3, 2).whole(3, A, LATER_B, epoch=2, hw=2)
        assert broken(self.judge, told) == ["kept", "kept"]

    def test_a_record_that_moved(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, A, stamped(0, 1, "x", "b"), epoch=1, hw=3)) == ["kept"]

    def test_a_record_that_changed_its_stamp(self) -> None:
        told = moved(written()).whole(2, BOTH, epoch=1, hw=2).move(2, 3).settled(3, 2)
        assert broken(self.judge, told.whole(3, A, stamped(1, 1, "b"), epoch=2, hw=2)) == ["kept"]

    def test_a_record_that_its_own_leader_lost(self) -> None:
        told = written().whole(1, A, epoch=0, hw=1)
        assert broken(self.judge, told) == ["kept"]

    def test_a_committed_record_that_a_consumer_is_not_shown(self) -> None:
        assert broken(self.judge, moved(written()).fetch(2, A, epoch=1, hw=2)) == ["readable"]

    def test_a_record_that_is_gone_and_comes_back(self) -> None:
        told = moved(written()).whole(2, A, epoch=1, hw=1).whole(2, BOTH, epoch=1, hw=2)
        assert broken(self.judge, told) == ["kept"]

    def test_what_is_where_it_was(self) -> None:
        told = moved(written()).whole(2, BOTH, epoch=1, hw=2).fetch(2, BOTH, epoch=1, hw=2)
        assert held(self.judge, told) == ["kept", "readable", "kept", "readable"]

    def test_the_leader_that_acknowledged_is_no_later_one(self) -> None:
        assert held(self.judge, written().whole(1, BOTH, epoch=0, hw=2).fetch(1, BOTH, epoch=0, hw=2)) == []

    def test_a_watermark_that_lags_hides_it_from_consumers(self) -> None:
        """A new leader's high watermark may be behind; nothing is promised to a consumer, and nothing was shown."""
        told = moved(written()).fetch(2, A, epoch=1, hw=1).whole(2, BOTH, epoch=1, hw=1)
        assert held(self.judge, told) == ["readable", "kept", "kept"]

    def test_a_log_start_that_passed_it(self) -> None:
        told = moved(written().trim(1, 1)).whole(2, B, epoch=1, hw=2, start=1)
        assert held(self.judge, told) == ["kept"]
        told = moved(written().trim(1, 2)).whole(2, epoch=1, hw=2, start=2)
        assert held(self.judge, told) == []

    def test_a_log_start_that_rose_while_it_was_read(self) -> None:
        assert held(self.judge, moved(written()).fetch(2, B, epoch=1, hw=2, start=1, offset=0)) == ["readable"]

    def test_a_log_start_that_is_lower_under_the_next_leader(self) -> None:
        """It had not heard of the trim, or forgot it in a crash; what it shows again must be right."""
        told = written().trim(1, 2).whole(1, epoch=0, hw=2, start=2)
        assert held(self.judge, moved(told).whole(2, BOTH, epoch=1, hw=2, start=0)) == ["kept", "kept"]

    def test_a_fetch_from_further_up_does_not_show_it(self) -> None:
        told = moved(written()).fetch(2, B, epoch=1, hw=2, start=0, offset=1)
        assert held(self.judge, told) == ["readable"]

    @pytest.mark.parametrize(
        "how", [{"acks": 1}, {"acks": 0}, {"error": Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND}, {"lost": True}]
    )
    def test_what_was_not_acknowledged_by_all_may_be_lost(self, how: dict[str, object]) -> None:
        """acks=1, an error, or no answer at all: it may be there or not."""
        for batches in ((), (stamped(1, 0, "x"),), (BOTH,)):
            told = LogHistory().settled(1, 0).produce(1, "a", "b", at=0, **how)  # type: ignore[arg-type]
            assert held(self.judge, moved(told).whole(2, *batches, epoch=1, hw=len(batches))) == []

    def test_a_follower_that_lags_says_nothing_about_it(self) -> None:
        told = moved(written()).whole(2, BOTH, epoch=1, hw=2).whole(3, A, epoch=1, hw=1)
        assert held(self.judge, told) == ["kept", "kept"]

    def test_what_was_read_before_says_nothing_about_it(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, epoch=0, hw=0).produce(1, "a", "b", at=0)
        assert held(self.judge, told) == []

    def test_an_ex_leader_that_has_not_heard_is_no_later_leader(self) -> None:
        """Its Metadata knows of the change before its replica does; for a moment it serves its old epoch."""
        told = moved(LogHistory().settled(1, 0)).produce(2, "a", at=0).whole(1, epoch=0, hw=0)
        assert held(self.judge, told) == []

    def test_a_fetch_that_names_no_epoch_says_nothing(self) -> None:
        """It may have been answered by anybody at any epoch."""
        assert held(self.judge, moved(written()).fetch(2, epoch=-1, hw=0)) == []


# --- the leader's watermark (KIP101-INV-08)


class TestWatermark:
    judge = judges.watermark_is_monotone_on_a_leader

    def test_a_watermark_that_falls_on_a_leader(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=2).fetch(1, A, epoch=0, hw=1)
        assert broken(self.judge, told) == ["watermark"]

    def test_a_log_start_that_falls_on_a_leader(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, B, epoch=0, hw=2, start=1).whole(1, A, B, epoch=0, hw=2)
        assert broken(self.judge, told) == ["log-start"]

    def test_both_may_rise_or_stay(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1).whole(1, B, epoch=0, hw=2, start=1)
        assert held(self.judge, told) == ["watermark", "log-start"]

    def test_a_followers_may_fall_when_it_meets_a_new_leader(self) -> None:
        told = (
            LogHistory()
            .settled(1, 0)
            .whole(3, A, B, epoch=0, hw=2)
            .move(1, 2)
            .settled(2, 1)
            .whole(3, A, B, epoch=1, hw=1)
        )
        assert held(self.judge, told) == []
        assert held(self.judge, told.whole(3, A, B, epoch=1, hw=0)) == []

    def test_the_next_leader_may_begin_lower(self) -> None:
        """Its own watermark lags by a fetch, and its log start by a trim that it had not heard of."""
        told = LogHistory().settled(1, 0).whole(1, B, epoch=0, hw=2, start=1).move(1, 2).settled(2, 1)
        assert held(self.judge, told.whole(2, A, B, epoch=1, hw=1)) == []

    def test_a_leader_elected_again_begins_anew(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=2).settled(2, 1).settled(1, 2)
        assert held(self.judge, told.whole(1, A, B, epoch=2, hw=1)) == []

    def test_a_restarted_leader_begins_at_its_checkpoint(self) -> None:
        """Releases before 4.0 may let it lead on at the same epoch."""
        told = LogHistory().settled(1, 0).whole(1, B, epoch=0, hw=2, start=1).restart(1).whole(1, A, B, epoch=0, hw=0)
        assert held(self.judge, told) == []


# --- offsets of one answer (KIP101-INV-09)


class TestOffsetsOfOneAnswer:
    judge = judges.offsets_of_one_answer_are_ordered

    def test_a_watermark_above_the_log_end(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=3)) == ["log"]

    def test_a_watermark_below_the_log_start(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).whole(2, B, epoch=0, hw=0, start=1)) == ["log"]

    def test_a_stable_offset_above_the_watermark(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).fetch(1, A, epoch=0, hw=1, lso=2)) == ["stable"]

    def test_a_stable_offset_that_follows_the_log_end(self) -> None:
        """Each time replication makes it look like a coincidence, but it happens each time."""
        told = LogHistory().settled(1, 0).fetch(1, epoch=0, hw=0, lso=1).fetch(1, A, epoch=0, hw=1, lso=2)
        assert broken(self.judge, told.fetch(1, A, B, epoch=0, hw=2)) == ["stable", "stable"]

    def test_an_earliest_offset_above_the_latest(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).earliest(1, 3).latest(1, 2)) == ["listed"]

    def test_honest_offsets(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1).earliest(1, 0).latest(1, 1)
        assert held(self.judge, told) == ["log", "stable", "listed"]

    def test_an_empty_log_and_one_trimmed_to_its_end(self) -> None:
        told = (
            LogHistory()
            .settled(1, 0)
            .whole(1, epoch=0, hw=0)
            .whole(1, epoch=0, hw=3, start=3)
            .whole(2, epoch=0, hw=3, start=3)
        )
        assert held(self.judge, told.earliest(1, 3).latest(1, 3)) == ["log", "stable"] * 3 + ["listed"]

    def test_a_log_that_ends_with_a_marker(self) -> None:
        """Control batches are no records, but they have offsets."""
        told = LogHistory().settled(1, 0).whole(1, A, stamped(0, 1, "commit", control=True), epoch=0, hw=2)
        assert held(self.judge, told) == ["log", "stable"]

    def test_an_unclosed_transaction_holds_the_stable_offset_back(self) -> None:
        assert held(self.judge, LogHistory().settled(1, 0).fetch(1, A, B, epoch=0, hw=2, lso=1)) == ["stable"]

    def test_a_watermark_that_rose_while_the_answer_was_made(self) -> None:
        """A broker reads it first and the others after it, without a lock; the next answer shows that it rose."""
        told = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1, lso=2).whole(1, A, B, epoch=0, hw=2)
        assert held(self.judge, told) == ["log", "stable"]
        told = LogHistory().settled(1, 0).whole(2, C, epoch=0, hw=1, start=2).whole(2, C, epoch=0, hw=3, start=2)
        assert held(self.judge, told) == ["log", "stable"]

    def test_ends_that_were_asked_for_at_different_times(self) -> None:
        """Between them the broker came back with an older log start and watermark."""
        told = LogHistory().settled(1, 0).earliest(1, 3).restart(1).settled(1, 2).latest(1, 2)
        told.earliest(2, 3).latest(1, 2).earliest(1, 3).latest(1, -1, error=Error.OFFSET_NOT_AVAILABLE)
        assert held(self.judge, told) == []


# --- epochs in answers (KIP101-INV-10)


class TestEpochsInAnswers:
    judge = judges.epochs_never_fall

    def test_metadata_that_goes_back(self) -> None:
        told = LogHistory().metadata(1, 2, 3).metadata(1, 1, 2)
        assert broken(self.judge, told) == ["answers"]

    def test_a_fence_that_goes_back(self) -> None:
        told = (
            LogHistory()
            .settled(1, 3)
            .refused(1, 2, Error.FENCED_LEADER_EPOCH)
            .refused(1, 3, Error.UNKNOWN_LEADER_EPOCH)
        )
        assert broken(self.judge, told) == ["fence"]

    def test_epochs_that_rise_or_stay(self) -> None:
        told = (
            LogHistory()
            .settled(1, 3)
            .refused(1, 2, Error.FENCED_LEADER_EPOCH)
            .refused(1, 4, Error.UNKNOWN_LEADER_EPOCH)
        )
        assert held(self.judge, told.settled(1, 3)) == ["answers"] * 3 + ["fence"]
        assert held(self.judge, told.settled(2, 4).refused(1, 3, Error.FENCED_LEADER_EPOCH))[-2:] == [
            "answers",
            "fence",
        ]

    def test_brokers_that_have_not_heard_yet(self) -> None:
        told = LogHistory().settled(1, 3).metadata(1, 2, 4).metadata(2, 1, 3).metadata(3, 2, 4).metadata(2, 2, 4)
        told.refused(1, 3, Error.FENCED_LEADER_EPOCH).refused(2, 4, Error.UNKNOWN_LEADER_EPOCH)
        assert held(self.judge, told) == ["answers"] * 4

    def test_a_restarted_broker_replays_what_it_had_known(self) -> None:
        told = LogHistory().settled(2, 3).refused(1, 2, Error.FENCED_LEADER_EPOCH).restart(1).metadata(1, 1, 2)
        told.refused(1, 3, Error.UNKNOWN_LEADER_EPOCH).metadata(1, 2, 3)
        assert held(self.judge, told) == ["answers"]


# --- one leader per epoch (KIP101-INV-11)


class TestOneLeaderPerEpoch:
    judge = judges.one_leader_per_epoch

    def test_two_brokers_that_name_two_leaders(self) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 3).metadata(2, 2, 3)) == ["metadata"]

    def test_the_same_after_a_restart(self) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 3).restart(1).metadata(1, 2, 3)) == ["metadata"]

    def test_a_fetch_that_names_another(self) -> None:
        told = LogHistory().settled(1, 3).refused(2, 2, Error.FENCED_LEADER_EPOCH, hint=(2, 3))
        assert broken(self.judge, told) == ["hint"]

    def test_one_leader_for_each(self) -> None:
        told = LogHistory().metadata(1, 1, 3).metadata(2, 1, 3).metadata(1, 2, 4)
        assert held(self.judge, told.refused(1, 3, Error.FENCED_LEADER_EPOCH, hint=(2, 4))) == ["metadata", "hint"]

    def test_a_broker_that_is_fenced_is_not_named(self) -> None:
        """Metadata then says LEADER_NOT_AVAILABLE and names nobody, at the epoch that the broker still leads."""
        told = LogHistory().metadata(1, 2, 3).metadata(1, -1, 3, error=Error.LEADER_NOT_AVAILABLE).metadata(1, 2, 3)
        assert held(self.judge, told) == ["metadata"]
        assert held(self.judge, told.refused(1, 2, Error.FENCED_LEADER_EPOCH, hint=(-1, 3))) == ["metadata"]


# --- no future stamps (KIP101-INV-12)


class TestNoFutureStamps:
    judge = judges.no_future_stamps

    def test_a_record_of_a_later_epoch_than_was_named(self) -> None:
        told = LogHistory().settled(1, 0).metadata(2, 2, 1).fetch(1, A, LATER_B, epoch=0, hw=2)
        assert broken(self.judge, told) == ["leader"]
        assert broken(self.judge, told.fetch(3, A, LATER_B, epoch=0, hw=2)) == ["leader", "follower"]

    def test_records_up_to_the_epoch_that_was_named(self) -> None:
        told = LogHistory().settled(2, 1).fetch(2, A, LATER_B, epoch=1, hw=2).fetch(3, A, epoch=1, hw=1)
        assert held(self.judge, told) == ["leader", "follower"]

    def test_a_fetch_that_names_none_or_brings_nothing(self) -> None:
        told = LogHistory().settled(2, 1).fetch(2, A, LATER_B, epoch=-1, hw=2).fetch(2, epoch=0, hw=0)
        assert held(self.judge, told.refused(2, 0, Error.FENCED_LEADER_EPOCH).fetch_lost(2, 0)) == []


# --- end offsets over epochs (KIP101-INV-14)


def rested(*batches: object, start: int = 0, hw: int = 3) -> LogHistory:
    """At rest, with the leader of epoch 2 read whole."""
    return LogHistory().settled(1, 2).at_rest().whole(1, *batches, epoch=2, hw=hw, start=start)  # type: ignore[arg-type]


THREE = (A, stamped(1, 1, "b"), stamped(2, 2, "c"))


class TestEndOffsets:
    judge = judges.end_offsets_grow_with_the_epoch

    def test_an_end_that_falls(self) -> None:
        told = rested(*THREE).epoch_end(1, 0, (0, 2), 2).epoch_end(1, 1, (1, 1), 2).epoch_end(1, 2, (2, 3), 2)
        assert broken(self.judge, told) == ["vector"]

    @pytest.mark.parametrize("answer", [(2, 2), (2, 4), (1, 2)])
    def test_a_newest_epoch_that_does_not_end_the_log(self, answer: tuple[int, int]) -> None:
        told = rested(*THREE).epoch_end(1, 0, (0, 1), 2).epoch_end(1, 1, (1, 2), 2).epoch_end(1, 2, answer, 2)
        assert broken(self.judge, told) == ["vector"]

    def test_ends_that_grow_to_the_log_end(self) -> None:
        told = rested(*THREE).epoch_end(1, 0, (0, 1), 2).epoch_end(1, 1, (1, 2), 2).epoch_end(1, 2, (2, 3), 2)
        assert held(self.judge, told) == ["vector"] * 3

    def test_epochs_without_records(self) -> None:
        """Asked for an epoch that wrote nothing, the leader names the one below it, or none."""
        told = rested(A, hw=1).epoch_end(1, 0, (0, 1), 2).epoch_end(1, 1, (0, 1), 2).epoch_end(1, 2, (2, 1), 2)
        assert held(self.judge, told) == ["vector"] * 3

    def test_epochs_that_were_trimmed_away(self) -> None:
        told = rested(start=3).epoch_end(1, 0, (0, 3), 2).epoch_end(1, 1, (1, 3), 2).epoch_end(1, 2, (2, 3), 2)
        assert held(self.judge, told) == ["vector"] * 3
        unknown = rested(start=3).epoch_end(1, 0, (-1, -1), 2).epoch_end(1, 2, (2, 3), 2)
        assert held(self.judge, unknown) == ["vector"]

    def test_an_empty_log(self) -> None:
        assert held(self.judge, rested(hw=0).epoch_end(1, 2, (2, 0), 2)) == ["vector"]

    def test_a_leader_that_changed_meanwhile(self) -> None:
        """The last question is refused, so the last answer is not of the newest epoch."""
        told = rested(*THREE).epoch_end(1, 0, (0, 1), 2).epoch_end(1, 1, (1, 2), 2)
        told.epoch_end(1, 2, (-1, -1), 2, error=Error.FENCED_LEADER_EPOCH)
        assert held(self.judge, told) == ["vector"]
        late = rested(*THREE).settled(2, 3).epoch_end(2, 2, (2, 3), 3).epoch_end(2, 3, (3, 5), 3)
        assert held(self.judge, late) == ["vector"]

    def test_what_was_asked_before_the_rest_is_no_instance(self) -> None:
        told = LogHistory().settled(1, 2).epoch_end(1, 1, (1, 2), 2).epoch_end(1, 2, (2, 1), 2)
        assert held(self.judge, told) == []
        assert held(self.judge, told.at_rest()) == []


# --- replicated batches (KIP101-STAMP-03)


class TestReplicatedBatches:
    judge = judges.followers_keep_stamps_and_bytes

    def rested(self, *batches: object, start: int = 0) -> LogHistory:
        told = LogHistory().settled(1, 1).at_rest().whole(1, BOTH, stamped(1, 2, "c"), epoch=1, hw=3)
        return told.whole(2, *batches, epoch=1, hw=3, start=start)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "batches",
        [
            (BOTH, stamped(1, 2, "x")),
            (BOTH, stamped(2, 2, "c")),
            (A, B, stamped(1, 2, "c")),
            (BOTH,),
        ],
        ids=["other bytes", "other stamp", "other batches", "one less"],
    )
    def test_a_follower_that_holds_something_else(self, batches: tuple[object, ...]) -> None:
        assert broken(self.judge, self.rested(*batches)) == ["replicated"]

    def test_a_batch_that_the_log_start_cuts_is_compared_too(self) -> None:
        told = self.rested(stamped(0, 0, "a", "x"), stamped(1, 2, "c"), start=1)
        assert broken(self.judge, told) == ["replicated"]

    def test_equal_logs(self) -> None:
        assert held(self.judge, self.rested(BOTH, stamped(1, 2, "c"))) == ["replicated"]

    def test_log_starts_that_differ(self) -> None:
        assert held(self.judge, self.rested(stamped(1, 2, "c"), start=2)) == ["replicated"]
        assert held(self.judge, self.rested(BOTH, stamped(1, 2, "c"), start=1)) == ["replicated"]

    def test_a_log_trimmed_to_its_end(self) -> None:
        assert held(self.judge, self.rested(start=3)) == []

    def test_before_the_rest_a_follower_may_lag(self) -> None:
        told = LogHistory().settled(1, 1).whole(1, BOTH, epoch=1, hw=0).whole(2, epoch=1, hw=0)
        assert held(self.judge, told.at_rest().whole(1, BOTH, epoch=1, hw=2)) == []


# --- changes of leader (KIP101-EPOCH-02)


class TestChangesOfLeader:
    judge = judges.every_leadership_change_raises_the_epoch

    @pytest.mark.parametrize("epoch", [3, 2])
    def test_another_leader_without_another_epoch(self, epoch: int) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 3).metadata(1, 2, epoch)) == ["moved"]

    def test_a_partition_that_lost_its_leader_without_another_epoch(self) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 3).metadata(1, -1, 3)) == ["leaderless"]

    def test_epochs_that_rise_with_the_leaders(self) -> None:
        told = LogHistory().metadata(1, 1, 3).metadata(1, 2, 4).metadata(1, 2, 5).metadata(1, -1, 6).metadata(1, 1, 9)
        assert held(self.judge, told) == ["moved", "leaderless", "leaderless"]

    def test_a_broker_that_has_not_heard_yet(self) -> None:
        told = LogHistory().settled(1, 3).metadata(1, 2, 4).metadata(2, 1, 3).metadata(2, 2, 4)
        assert held(self.judge, told) == ["moved", "moved"]

    def test_a_fenced_leader_is_not_named_and_that_is_no_change(self) -> None:
        told = LogHistory().metadata(1, 1, 3).metadata(1, -1, 3, error=Error.LEADER_NOT_AVAILABLE).metadata(1, 1, 3)
        assert held(self.judge, told) == []

    def test_a_restarted_broker_replays_what_it_had_known(self) -> None:
        told = LogHistory().metadata(1, 2, 4).restart(1).metadata(1, 1, 3).metadata(1, 2, 4)
        assert held(self.judge, told) == ["moved"]
