"""The judges of a replicated log: each catches what it is there for, and says nothing against an honest history.

`caught` and `silent` are about what is said; a row that says nothing at all saw no premise.
"""

from __future__ import annotations

import msgspec
import pytest

from conformance.judges import records
from conformance.judges.log import LOG_JUDGES
from fixtures.wire import Error
from tests.histories import LogHistory, stamped
from tests.judging import broken, held, labels, said

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
LATER_B = stamped(1, 1, "b2")


def test_each_judge_is_there_once() -> None:
    assert len({one.function for one in LOG_JUDGES}) == len(LOG_JUDGES)


def test_an_observation_shows_its_events() -> None:
    told = LogHistory().settled(1, 1).whole(1, stamped(1, 0, "a"), B, epoch=1, hw=2)
    [observation] = said(records.stamps_never_decrease, told)
    assert (observation.requirement, observation.example, observation.result) == ("KIP101-INV-03", "e-1", "violated")
    assert [type(told.events[n]).__name__ for n in observation.events] == ["Answer"]
    assert "broker-1" in observation.detail
    assert observation.label == "epoch-regression"


# --- one record per offset and epoch (KIP101-INV-01)


class TestOneRecordPerOffsetAndEpoch:
    judge = records.one_record_per_offset_and_epoch

    def test_two_replicas_with_different_records_under_one_stamp(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1).whole(2, A, stamped(0, 1, "x"), epoch=0, hw=1)
        assert broken(self.judge, told) == ["replicas"]
        assert labels(self.judge, told) == {"divergent-prefix"}

    def test_one_replica_whose_record_changed_over_a_restart(self) -> None:
        told = (
            LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).restart(1).whole(1, stamped(0, 0, "x"), epoch=0, hw=1)
        )
        assert broken(self.judge, told) == ["time"]

    def test_one_replica_whose_record_changed_while_nothing_happened(self) -> None:
        told = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).whole(1, stamped(0, 0, "x"), epoch=0, hw=1)
        assert broken(self.judge, told) == ["time"]

    def test_a_timestamp_is_content_too(self) -> None:
        later = msgspec.structs.replace(A, base_timestamp=2, crc=A.crc + 1)
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
    judge = records.prefixes_agree

    def test_logs_that_differ_below_a_stamp_in_common(self) -> None:
        told = (
            LogHistory()
            .settled(1, 0)
            .whole(1, A, stamped(1, 1, "b"), stamped(2, 2, "c"), epoch=2, hw=1)
            .whole(2, stamped(1, 0, "a"), stamped(1, 1, "b"), stamped(2, 2, "c"), epoch=2, hw=1)
        )
        assert broken(self.judge, told) == ["prefix"]
        assert labels(self.judge, told) == {"divergent-prefix"}

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
    judge = records.stamps_never_decrease

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
    judge = records.committed_means_kept

    def test_a_record_that_the_next_leader_does_not_have(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, A, epoch=1, hw=1)) == ["kept"]

    def test_a_log_that_the_next_leader_lost_altogether(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, epoch=1, hw=0)) == ["kept"]

    def test_a_record_that_the_next_leader_overwrote(self) -> None:
        """Seen under the very epoch in which it was overwritten; what is lost stays lost, and is told once."""
        told = moved(written()).whole(2, A, LATER_B, epoch=1, hw=2)
        assert broken(self.judge, told) == ["kept"]
        told.move(2, 3).settled(3, 2).whole(3, A, LATER_B, epoch=2, hw=2)
        assert broken(self.judge, told) == ["kept"]
        assert labels(self.judge, told) == {"lost-write"}

    def test_a_record_that_moved(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, A, stamped(0, 1, "x", "b"), epoch=1, hw=3)) == ["kept"]

    def test_a_record_that_changed_its_stamp(self) -> None:
        told = moved(written()).whole(2, BOTH, epoch=1, hw=2).move(2, 3).settled(3, 2)
        assert broken(self.judge, told.whole(3, A, stamped(1, 1, "b"), epoch=2, hw=2)) == ["kept"]

    def test_a_record_that_its_own_leader_lost(self) -> None:
        told = written().whole(1, A, epoch=0, hw=1)
        assert broken(self.judge, told) == ["kept"]

    def test_a_committed_record_that_a_consumer_is_not_shown(self) -> None:
        assert broken(self.judge, moved(written()).fetch(2, epoch=1, hw=2)) == ["readable"]

    def test_a_record_that_is_gone_and_comes_back(self) -> None:
        told = moved(written()).whole(2, A, epoch=1, hw=1).whole(2, BOTH, epoch=1, hw=2)
        assert broken(self.judge, told) == ["kept"]

    def test_what_is_where_it_was(self) -> None:
        told = moved(written()).whole(2, BOTH, epoch=1, hw=2).fetch(2, BOTH, epoch=1, hw=2)
        assert held(self.judge, told) == ["kept", "readable"]

    def test_the_leader_that_acknowledged_is_no_later_one(self) -> None:
        assert held(self.judge, written().whole(1, BOTH, epoch=0, hw=2).fetch(1, BOTH, epoch=0, hw=2)) == []

    def test_a_watermark_that_lags_hides_it_from_consumers(self) -> None:
        """A new leader's high watermark may be behind; nothing is promised to a consumer, and nothing was shown."""
        told = moved(LogHistory().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1))
        told.fetch(2, A, epoch=1, hw=1).whole(2, A, B, epoch=1, hw=1)
        assert held(self.judge, told) == ["readable", "kept"]

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
        assert held(self.judge, moved(told).whole(2, BOTH, epoch=1, hw=2, start=0)) == ["kept"]

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
        told = moved(written()).whole(2, BOTH, epoch=1, hw=2).whole(3, epoch=1, hw=0)
        assert held(self.judge, told) == ["kept"]

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


# --- replicated batches (KIP101-STAMP-03)


class TestReplicatedBatches:
    judge = records.followers_keep_stamps_and_bytes

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
