"""Judges of records in a replicated log: each is violated by a history that breaks its row, and never by a legal one."""

from __future__ import annotations

import msgspec
import pytest

from conformance.judging.excuses import DISK_LOST_BY_FAULT, ELECTED_UNCLEANLY_ON_REQUEST, EPOCHS_LOST
from conformance.judging.log import records
from protocol.codes import Error
from tests.support.histories import LogHistory, Producer, held_on_disk, stamped
from tests.support.judging import broken, excused, held, judged_by, labels

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
LATER_B = stamped(1, 1, "b2")


def test_an_observation_shows_its_events() -> None:
    history = LogHistory().settled(1, 1).whole(1, stamped(1, 0, "a"), B, epoch=1, hw=2)
    [observation] = judged_by(records.leader_epochs_never_decrease, history)
    assert (observation.requirement, observation.example, observation.result) == ("KIP101-INV-03", "e-1", "violated")
    assert [type(history.events[n]).__name__ for n in observation.events] == ["Answer"]
    assert "broker-1" in observation.detail
    assert observation.label == "epoch-regression"


# --- one record per offset and epoch (KIP101-INV-01)


class TestOneRecordPerOffsetAndEpoch:
    judge = records.one_record_per_offset_and_epoch

    def test_two_replicas_with_different_records_under_one_stamp(self) -> None:
        history = (
            LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1).whole(2, A, stamped(0, 1, "x"), epoch=0, hw=1)
        )
        assert broken(self.judge, history) == ["replicas"]
        assert labels(self.judge, history) == {"divergent-prefix"}

    def test_one_replica_whose_record_changed_over_a_restart(self) -> None:
        history = (
            LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).restart(1).whole(1, stamped(0, 0, "x"), epoch=0, hw=1)
        )
        assert broken(self.judge, history) == ["time"]

    def test_one_replica_whose_record_changed_while_nothing_happened(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).whole(1, stamped(0, 0, "x"), epoch=0, hw=1)
        assert broken(self.judge, history) == ["time"]

    def test_a_timestamp_is_content_too(self) -> None:
        later = msgspec.structs.replace(A, base_timestamp=2, crc=A.crc + 1)
        history = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).whole(2, later, epoch=0, hw=1)
        assert broken(self.judge, history) == ["replicas"]

    def test_an_unacknowledged_tail_that_is_replaced_has_another_stamp(self) -> None:
        """acks=1 on a leader that dies: its successor writes something else at that offset, under its own epoch."""
        history = LogHistory().settled(1, 0).produce(1, "b", at=1, acks=1).whole(1, A, B, epoch=0, hw=1).kill(1)
        history.metadata(2, 2, 1).metadata(3, 2, 1).produce(2, "b2", at=1).whole(2, A, LATER_B, epoch=1, hw=2)
        history.start(1).settled(2, 1).whole(1, A, LATER_B, epoch=1, hw=2)
        assert held(self.judge, history) == ["replicas", "time", "replicas"]

    def test_reading_again_while_nothing_happened_is_no_new_instance(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).fetch(1, A, epoch=0, hw=1)
        assert held(self.judge, history) == []
        assert held(self.judge, history.restart(1).settled(1, 2).fetch(1, A, epoch=2, hw=1)) == ["time"]


# --- prefix agreement (KIP101-INV-02)


class TestPrefixAgreement:
    judge = records.prefixes_agree

    def test_logs_that_differ_below_a_stamp_in_common(self) -> None:
        history = (
            LogHistory()
            .settled(1, 0)
            .whole(1, A, stamped(1, 1, "b"), stamped(2, 2, "c"), epoch=2, hw=1)
            .whole(2, stamped(1, 0, "a"), stamped(1, 1, "b"), stamped(2, 2, "c"), epoch=2, hw=1)
        )
        assert broken(self.judge, history) == ["prefix"]
        assert labels(self.judge, history) == {"divergent-prefix"}

    def test_a_gap_below_a_stamp_in_common(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=1).whole(2, A, C, epoch=0, hw=1)
        assert broken(self.judge, history) == ["prefix"]

    def test_another_stamp_below_a_stamp_in_common(self) -> None:
        top = stamped(2, 2, "c")
        again = stamped(1, 1, "b")
        history = LogHistory().settled(1, 2).whole(1, A, B, top, epoch=2, hw=1).whole(2, A, again, top, epoch=2, hw=1)
        assert broken(self.judge, history) == ["prefix"]

    def test_tails_that_diverge_above_the_last_stamp_in_common(self) -> None:
        history = LogHistory().settled(2, 1).whole(1, A, B, C, epoch=1, hw=1).whole(2, A, LATER_B, epoch=1, hw=1)
        assert held(self.judge, history) == ["prefix"]

    def test_log_starts_that_differ(self) -> None:
        """A new leader may begin lower than the one that was trimmed."""
        history = LogHistory().settled(1, 0).whole(1, B, C, epoch=0, hw=3, start=1).whole(2, A, B, C, epoch=0, hw=3)
        assert held(self.judge, history) == ["prefix"]

    def test_a_trim_into_the_middle_of_a_batch(self) -> None:
        """The whole batch is sent, and what lies below the fetch offset is not there for a reader."""
        three = stamped(0, 0, "a", "b", "c")
        history = LogHistory().settled(1, 0).whole(1, three, epoch=0, hw=3, start=2).whole(2, three, epoch=0, hw=3)
        assert held(self.judge, history) == ["prefix"]

    def test_nothing_in_common_is_no_instance(self) -> None:
        history = LogHistory().settled(2, 1).whole(1, A, epoch=1, hw=0).whole(2, stamped(1, 0, "x"), epoch=1, hw=0)
        assert held(self.judge, history.whole(3, epoch=1, hw=0)) == []

    def test_a_consumer_sees_no_tail_and_is_no_instance(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=3).fetch(2, A, C, epoch=0, hw=3)
        assert judged_by(self.judge, history) == []

    def test_a_replica_that_lost_its_epochs_may_keep_a_suffix_until_it_is_in_the_isr_again(self) -> None:
        common = stamped(2, 1, "c")
        for lost, cases in ((True, []), (False, ["prefix"])):
            history = LogHistory().settled(1, 2)
            if lost:
                history.hit("remove-epoch-checkpoint", 2, partition="topic-0")
            history.whole(1, A, common, epoch=2, hw=2).whole(2, stamped(1, 0, "b"), common, epoch=2, hw=2)
            assert broken(self.judge, history) == cases
            assert excused(self.judge, history) == ([("prefix", EPOCHS_LOST)] if lost else [])


# --- stamps along the log (KIP101-INV-03)


class TestStampsAlongTheLog:
    judge = records.leader_epochs_never_decrease

    def test_an_older_stamp_above_a_newer_one(self) -> None:
        history = LogHistory().settled(1, 1).whole(2, stamped(1, 0, "a"), B, epoch=1, hw=0)
        assert broken(self.judge, history) == ["replica"]

    def test_stamps_that_rise_or_stay(self) -> None:
        history = LogHistory().settled(1, 4).whole(2, A, B, stamped(4, 2, "c"), epoch=4, hw=0)
        assert held(self.judge, history) == ["replica"]

    def test_one_record_or_none_shows_nothing(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).whole(2, epoch=0, hw=0)
        assert held(self.judge, history) == []


# --- committed means kept (KIP101-INV-05)


def written() -> LogHistory:
    """`a` and `b` acknowledged by all under epoch 0."""
    return LogHistory().settled(1, 0).produce(1, "a", "b", at=0)


def moved(history: LogHistory) -> LogHistory:
    """2 leads at epoch 1."""
    return history.move(1, 2).settled(2, 1)


BOTH = stamped(0, 0, "a", "b")


class TestCommittedMeansKept:
    judge = records.acknowledged_records_are_kept

    def test_a_record_that_the_next_leader_does_not_have(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, A, epoch=1, hw=1)) == ["kept"]

    def test_a_log_that_the_next_leader_lost_altogether(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, epoch=1, hw=0)) == ["kept"]

    def test_a_record_that_the_next_leader_overwrote(self) -> None:
        """Seen at the epoch in which it was overwritten. It stays lost, and is reported once."""
        history = moved(written()).whole(2, A, LATER_B, epoch=1, hw=2)
        assert broken(self.judge, history) == ["kept"]
        history.move(2, 3).settled(3, 2).whole(3, A, LATER_B, epoch=2, hw=2)
        assert broken(self.judge, history) == ["kept"]
        assert labels(self.judge, history) == {"lost-write"}

    def test_a_record_that_moved(self) -> None:
        assert broken(self.judge, moved(written()).whole(2, A, stamped(0, 1, "x", "b"), epoch=1, hw=3)) == ["kept"]

    def test_a_record_that_changed_its_stamp(self) -> None:
        history = moved(written()).whole(2, BOTH, epoch=1, hw=2).move(2, 3).settled(3, 2)
        assert broken(self.judge, history.whole(3, A, stamped(1, 1, "b"), epoch=2, hw=2)) == ["kept"]

    def test_a_record_that_its_own_leader_lost(self) -> None:
        history = written().whole(1, A, epoch=0, hw=1)
        assert broken(self.judge, history) == ["kept"]

    def test_a_committed_record_that_a_consumer_is_not_shown(self) -> None:
        assert broken(self.judge, moved(written()).fetch(2, epoch=1, hw=2)) == ["readable"]

    def test_a_record_that_is_gone_and_comes_back(self) -> None:
        history = moved(written()).whole(2, A, epoch=1, hw=1).whole(2, BOTH, epoch=1, hw=2)
        assert broken(self.judge, history) == ["kept"]

    def test_what_is_where_it_was(self) -> None:
        history = moved(written()).whole(2, BOTH, epoch=1, hw=2).fetch(2, BOTH, epoch=1, hw=2)
        assert held(self.judge, history) == ["kept", "readable"]

    def test_the_leader_that_acknowledged_is_no_later_one(self) -> None:
        assert held(self.judge, written().whole(1, BOTH, epoch=0, hw=2).fetch(1, BOTH, epoch=0, hw=2)) == []

    def test_a_watermark_that_lags_hides_it_from_consumers(self) -> None:
        """A new leader's high watermark may be behind; nothing is promised to a consumer, and nothing was shown."""
        history = moved(LogHistory().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1))
        history.fetch(2, A, epoch=1, hw=1).whole(2, A, B, epoch=1, hw=1)
        assert held(self.judge, history) == ["readable", "kept"]

    def test_a_log_start_that_passed_it(self) -> None:
        history = moved(written().trim(1, 1)).whole(2, B, epoch=1, hw=2, start=1)
        assert held(self.judge, history) == ["kept"]
        history = moved(written().trim(1, 2)).whole(2, epoch=1, hw=2, start=2)
        assert held(self.judge, history) == []

    def test_a_log_start_that_rose_while_it_was_read(self) -> None:
        assert held(self.judge, moved(written()).fetch(2, B, epoch=1, hw=2, start=1, offset=0)) == ["readable"]

    def test_a_log_start_that_is_lower_under_the_next_leader(self) -> None:
        """It forgot the trim in a crash; what it shows again must be right."""
        history = written().trim(1, 2, error=Error.REQUEST_TIMED_OUT).whole(1, epoch=0, hw=2, start=2).restart(2)
        assert held(self.judge, moved(history).whole(2, BOTH, epoch=1, hw=2, start=0)) == ["kept"]

    def test_a_fetch_from_further_up_does_not_show_it(self) -> None:
        history = moved(written()).fetch(2, B, epoch=1, hw=2, start=0, offset=1)
        assert held(self.judge, history) == ["readable"]

    @pytest.mark.parametrize(
        "how", [{"acks": 1}, {"acks": 0}, {"error": Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND}, {"lost": True}]
    )
    def test_what_was_not_acknowledged_by_all_may_be_lost(self, how: dict[str, object]) -> None:
        """acks=1, an error, or no answer at all: it may be there or not."""
        for batches in ((), (stamped(1, 0, "x"),), (BOTH,)):
            history = LogHistory().settled(1, 0).produce(1, "a", "b", at=0, **how)  # type: ignore[arg-type]
            assert held(self.judge, moved(history).whole(2, *batches, epoch=1, hw=len(batches))) == []

    def test_a_follower_that_lags_says_nothing_about_it(self) -> None:
        history = written().move(1, 2).settled(2, 1, isr=(1, 2)).whole(2, BOTH, epoch=1, hw=2).whole(3, epoch=1, hw=0)
        assert held(self.judge, history) == ["kept"]

    def test_what_was_read_before_says_nothing_about_it(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, epoch=0, hw=0).produce(1, "a", "b", at=0)
        assert held(self.judge, history) == []

    def test_an_ex_leader_that_has_not_heard_is_no_later_leader(self) -> None:
        """Its Metadata knows of the change before its replica does; for a moment it serves its old epoch."""
        history = moved(LogHistory().settled(1, 0)).produce(2, "a", at=0).whole(1, epoch=0, hw=0)
        assert held(self.judge, history) == []

    def test_a_fetch_that_names_no_epoch_says_nothing(self) -> None:
        """It may have been answered by any broker at any epoch."""
        assert held(self.judge, moved(written()).fetch(2, epoch=-1, hw=0)) == []


class TestKeptThroughFaults:
    """Unclean elections, zombies, lost disks and files: what is allowed to be gone, and what is not."""

    judge = records.acknowledged_records_are_kept

    def test_an_unclean_election_may_lose_it(self) -> None:
        history = moved(written().elect_uncleanly(3)).whole(2, A, LATER_B, epoch=1, hw=2)
        assert held(self.judge, history) == []

    def test_an_unclean_election_before_it_does_not_excuse_its_loss(self) -> None:
        history = LogHistory().settled(1, 0).elect_uncleanly(3).settled(3, 1).produce(3, "a", "b", at=0)
        history.settled(2, 2).whole(2, stamped(2, 0, "x"), epoch=2, hw=1)
        assert broken(self.judge, history) == ["kept"]

    def test_a_zombie_that_is_alone_in_its_isr_acknowledges_what_an_unclean_election_passed_over(self) -> None:
        history = LogHistory().settled(1, 0).elect_uncleanly(2).metadata(2, 2, 1).metadata(3, 2, 1)
        history.produce(1, "a", "b", at=0).whole(1, BOTH, epoch=0, hw=2).whole(2, stamped(1, 0, "x"), epoch=1, hw=1)
        assert held(self.judge, history) == []

    def test_a_zombie_that_wakes_serves_its_old_log(self) -> None:
        """Frozen while another led and wrote; for a moment it answers at its own epoch, without what was acknowledged."""
        history = LogHistory().settled(1, 0).hit("paused-zombie", 1).metadata(2, 2, 1).metadata(3, 2, 1)
        history.produce(2, "a", "b", at=0).heal("paused-zombie", 1).whole(1, epoch=0, hw=0).fetch(1, epoch=0, hw=0)
        after = stamped(1, 0, "a", "b")
        assert held(self.judge, history.settled(3, 2).whole(3, after, epoch=2, hw=2)) == ["kept"]

    def test_an_epoch_that_nobody_had_named_when_it_was_written(self) -> None:
        """The deposed leader's epoch is the newest that is known; the record is stamped with the one that follows."""
        history = LogHistory().settled(1, 0).produce(2, "a", "b", at=0).whole(1, epoch=0, hw=0).settled(2, 1)
        assert held(self.judge, history.whole(2, stamped(1, 0, "a", "b"), epoch=1, hw=2)) == []

    @pytest.mark.parametrize("replicas", ["1", "2"])
    def test_a_disk_that_lost_its_tail(self, replicas: str) -> None:
        """Two that had to have it: one is left. One only: it may have been the one."""
        history = LogHistory().created(min_insync_replicas=replicas).settled(1, 0).produce(1, "a", "b", at=0)
        history.hit("cut-tail-above", 1, partition="topic-0").settled(2, 1).whole(2, A, epoch=1, hw=1)
        assert broken(self.judge, history) == (["kept"] if replicas == "2" else [])

    def test_as_many_disks_as_had_to_have_it(self) -> None:
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).produce(1, "a", "b", at=0)
        history.hit("cut-tail-above", 1, partition="topic-0").hit("cut-tail-above", 3, partition="topic-0")
        assert held(self.judge, history.settled(2, 1).whole(2, A, epoch=1, hw=1)) == []

    def test_disks_that_were_whole_again_in_between(self) -> None:
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).produce(1, "a", "b", at=0)
        for broker in (1, 3):
            history.hit("cut-tail-above", broker, partition="topic-0").heal("cut-tail-above", broker)
        assert broken(self.judge, history.settled(2, 1).whole(2, A, epoch=1, hw=1)) == ["kept"]

    def test_the_only_one_in_sync_lost_its_tail_and_leads_again(self) -> None:
        """With eligible leader replicas the record would be kept, which GEN-09 judges."""
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).produce(1, "a", "b", at=0)
        history.settled(1, 0, isr=(1,)).hit("cut-tail-above", 1, partition="topic-0").settled(1, 2)
        assert judged_by(self.judge, history.whole(1, A, epoch=2, hw=1)) == []

    def test_it_lost_the_end_of_its_log_and_leads_again_before_its_isr_was_described(self) -> None:
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0).produce(1, "a", "b", at=0)
        history.hit("cut-tail-above", 1, partition="topic-0").settled(1, 2).whole(1, A, epoch=2, hw=1)
        assert judged_by(self.judge, history) == []

    def test_a_lost_epoch_file(self) -> None:
        """A replica without leader-epoch-checkpoint may keep a suffix that the leader never had, and lead with it."""
        history = written().hit("remove-epoch-checkpoint", 2, partition="topic-0").settled(2, 1)
        assert held(self.judge, history.whole(2, A, LATER_B, epoch=1, hw=2)) == []

    def test_faults_of_another_partition_excuse_nothing(self) -> None:
        history = written().hit("remove-epoch-checkpoint", 2, partition="topic-1")
        history.hit("unclean-election", 2, partition="topic-1", own_topic=False).heal("unclean-election", 2)
        assert broken(self.judge, history.settled(2, 1).whole(2, A, epoch=1, hw=1)) == ["kept"]

    def test_an_unclean_election_by_a_fault(self) -> None:
        history = written().hit("unclean-election", 1, partition="topic-0", own_topic=False)
        assert held(self.judge, history.settled(2, 1).whole(2, A, epoch=1, hw=1)) == []

    def test_a_cleaner_takes_what_was_replaced_but_replaces_nothing(self) -> None:
        history = LogHistory().created(cleanup_policy="compact").settled(1, 0).produce(1, "a", at=0).settled(2, 1)
        assert held(self.judge, history.whole(2, B, epoch=1, hw=2)) == []
        assert broken(self.judge, history.whole(2, stamped(1, 0, "x"), B, epoch=1, hw=2)) == ["kept"]

    def test_a_log_of_two_segments(self) -> None:
        """A fetch shows one of them; the whole log is read once the last one shows nothing more."""
        history = moved(LogHistory().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1))
        history.fetch(2, A, epoch=1, hw=2, replica=-3).fetch(2, B, epoch=1, hw=2, offset=1, replica=-3)
        assert held(self.judge, history) == []
        assert held(self.judge, history.fetch(2, epoch=1, hw=2, offset=2, replica=-3)) == ["kept"]

    def test_a_fetch_that_diverges_shows_nothing(self) -> None:
        history = moved(written()).fetch(2, epoch=1, hw=2, offset=1, last=0)
        assert judged_by(self.judge, history) == []

    def test_an_answer_that_is_full_before_it_comes_to_the_record(self) -> None:
        history = moved(LogHistory().settled(1, 0).produce(1, "a", at=0).produce(1, "b", at=1)).fetch(
            2, A, epoch=1, hw=2
        )
        assert held(self.judge, history) == ["readable"]


# --- one commit per offset (KIP101-INV-06)


class TestOneCommitPerOffset:
    judge = records.one_acknowledged_record_per_offset

    def test_two_leaders_that_acknowledge_one_offset(self) -> None:
        history = written().settled(2, 1).produce(2, "x", at=1)
        assert broken(self.judge, history) == ["acknowledged"]
        assert labels(self.judge, history) == {"inconsistent-offsets"}

    def test_offsets_of_their_own(self) -> None:
        """No other leader had a record at these offsets: nothing is put to the test."""
        assert held(self.judge, written().settled(2, 1).produce(2, "x", at=2)) == []

    def test_the_same_records_again(self) -> None:
        """A producer that retries is answered the offset of its batch, by the next leader too."""
        assert held(self.judge, written().produce(1, "a", "b", at=0)) == []
        history = written().settled(2, 1).produce(2, "a", "b", at=0)
        assert held(self.judge, history) == ["acknowledged", "acknowledged"]

    @pytest.mark.parametrize("how", [{"acks": 0}, {"lost": True}])
    def test_what_not_all_had_acknowledged(self, how: dict[str, object]) -> None:
        history = LogHistory().settled(1, 0).produce(1, "x", at=0, **how).settled(2, 1)  # type: ignore[arg-type]
        assert held(self.judge, history.produce(2, "y", at=0)) == []

    def test_one_that_only_its_leader_had(self) -> None:
        """Two leaders competed for the offset, and one of them committed."""
        history = LogHistory().settled(1, 0).produce(1, "x", at=0, acks=1).settled(2, 1).produce(2, "y", at=0)
        assert held(self.judge, history) == ["acknowledged"]
        history = LogHistory().settled(2, 1).produce(2, "y", at=0).whole(1, stamped(0, 0, "x"), epoch=1, hw=0)
        assert held(self.judge, history) == []
        history = LogHistory().settled(1, 0).settled(2, 1).produce(2, "y", at=0)
        assert held(self.judge, history.whole(1, stamped(0, 0, "x"), epoch=0, hw=0)) == ["acknowledged"]

    def test_an_unclean_election_gives_offsets_again(self) -> None:
        history = written().elect_uncleanly(2).settled(2, 1).produce(2, "x", at=1)
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("acknowledged", ELECTED_UNCLEANLY_ON_REQUEST)]

    def retried(self, *, uncleanly: bool, described: bool = True) -> LogHistory:
        """1 appended a batch that was not acknowledged; 2 gave its offset to another; 1 leads again, and gets the batch again."""
        producer = Producer(7, 0, 0)
        history = LogHistory().settled(1, 0).produce(1, "x", at=0, lost=True, producer=producer)
        history.settled(2, 1).produce(2, "y", at=0)
        if uncleanly:
            history.elect_uncleanly(1)
        if described:
            history.settled(1, 2)
        return history.produce(1, "x", at=0, producer=producer).whole(1, stamped(0, 0, "x"), epoch=2, hw=1)

    def test_a_retry_is_answered_after_an_unclean_election_by_the_leader_that_kept_it(self) -> None:
        history = self.retried(uncleanly=True)
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("acknowledged", ELECTED_UNCLEANLY_ON_REQUEST)]

    def test_a_retry_is_answered_after_a_clean_election(self) -> None:
        assert broken(self.judge, self.retried(uncleanly=False)) == ["acknowledged"]

    def test_a_former_leader_answers_it_before_any_unclean_election(self) -> None:
        history = self.retried(uncleanly=False, described=False).elect_uncleanly(1).settled(1, 2)
        assert broken(self.judge, history) == ["acknowledged"]

    def test_a_later_unclean_election_explains_no_record_that_was_appended_before_it(self) -> None:
        """2 was elected cleanly and replaced what 1 had acknowledged; it is elected uncleanly before it answers."""
        history = LogHistory().settled(1, 0).produce(1, "y", at=0).settled(2, 1)
        history.elect_uncleanly(2).settled(1, 2).settled(2, 3)
        history.produce(2, "x", at=0).whole(2, stamped(1, 0, "x"), epoch=3, hw=1)
        assert broken(self.judge, history) == ["acknowledged"]

    def test_after_it_a_zombie_alone_in_its_isr_gives_them_too(self) -> None:
        history = LogHistory().settled(1, 0).elect_uncleanly(2).metadata(2, 2, 1).produce(2, "x", at=1)
        assert held(self.judge, history.produce(1, "y", at=1)) == []


# --- stable reads (KIP101-INV-07)


class TestStableReads:
    judge = records.consumed_records_are_never_replaced

    def test_a_record_that_the_next_leader_replaced(self) -> None:
        history = (
            LogHistory().settled(1, 0).fetch(1, A, B, epoch=0, hw=2).settled(2, 1).fetch(2, A, LATER_B, epoch=1, hw=2)
        )
        assert broken(self.judge, history) == ["leader"]
        assert labels(self.judge, history) == {"inconsistent-offsets"}

    def test_a_record_of_a_diverging_suffix_that_a_follower_showed(self) -> None:
        history = LogHistory().settled(2, 1).fetch(1, A, B, epoch=1, hw=2).fetch(2, A, LATER_B, epoch=1, hw=2)
        assert broken(self.judge, history) == ["follower"]

    def test_a_follower_that_shows_records_that_it_will_truncate_in_any_release(self) -> None:
        history = LogHistory().settled(2, 1).fetch(1, A, B, epoch=1, hw=2).fetch(2, A, LATER_B, epoch=1, hw=2)
        history.example = msgspec.structs.replace(history.example, column="3.3.2")
        assert broken(self.judge, history) == ["follower"]

    def test_what_a_consumer_handed_out_and_another_saw_replaced(self) -> None:
        history = (
            LogHistory().settled(1, 0).delivered("c-1", 1, 0, "b").settled(2, 1).fetch(2, A, LATER_B, epoch=1, hw=2)
        )
        assert broken(self.judge, history) == ["leader"]

    def test_what_is_read_again_from_another(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, A, B, epoch=0, hw=2).fetch(3, A, B, epoch=0, hw=2)
        history.settled(2, 1).fetch(2, A, B, epoch=1, hw=2).delivered("c-1", 1, 0, "b")
        assert held(self.judge, history) == ["follower", "leader", "leader"]

    def test_read_again_where_nothing_happened_is_no_instance(self) -> None:
        assert held(self.judge, LogHistory().settled(1, 0).fetch(1, A, epoch=0, hw=1).fetch(1, A, epoch=0, hw=1)) == []

    def test_uncommitted_tails_are_not_handed_out(self) -> None:
        history = (
            LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1).settled(2, 1).fetch(2, A, LATER_B, epoch=1, hw=2)
        )
        assert held(self.judge, history) == []

    def test_an_unclean_election_replaces_it(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, A, B, epoch=0, hw=2).elect_uncleanly(2).settled(2, 1)
        assert held(self.judge, history.fetch(2, A, LATER_B, epoch=1, hw=2)) == []
        assert excused(self.judge, history) == [("leader", ELECTED_UNCLEANLY_ON_REQUEST)]

    def test_the_deposed_leader_wakes_after_an_unclean_election(self) -> None:
        """Both reads come after it, and the zombie still shows what was committed before."""
        history = LogHistory().settled(1, 0).elect_uncleanly(2).metadata(2, 2, 1).fetch(2, A, LATER_B, epoch=1, hw=2)
        assert held(self.judge, history.fetch(1, A, B, epoch=0, hw=2)) == []

    def test_a_consumer_hands_out_what_it_had_fetched_before_an_unclean_election(self) -> None:
        history = LogHistory().settled(1, 0).elect_uncleanly(2).settled(2, 1).fetch(2, A, LATER_B, epoch=1, hw=2)
        assert held(self.judge, history.delivered("c-1", 1, 0, "b")) == []

    def alone(self) -> LogHistory:
        """A partition of one replica, which a consumer is assigned."""
        return LogHistory().assigned("c-1").settled(1, 0, replicas=(1,), isr=(1,))

    def replaced(self, history: LogHistory) -> LogHistory:
        history.delivered("c-1", 1, 0, "b").heal("wipe-disk", 1).settled(1, 2, replicas=(1,), isr=(1,))
        return history.fetch(1, A, stamped(2, 1, "c"), epoch=2, hw=2)

    def test_a_consumer_hands_out_what_it_had_fetched_before_a_disk_was_lost(self) -> None:
        history = self.replaced(self.alone().produce(1, "b", at=1).hit("wipe-disk", 1))
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("leader", DISK_LOST_BY_FAULT)]

    def test_what_was_written_after_a_disk_was_lost(self) -> None:
        assert broken(self.judge, self.replaced(self.alone().hit("wipe-disk", 1).produce(1, "b", at=1))) == ["leader"]

    def test_what_was_fetched_in_a_session_that_began_after_a_disk_was_lost(self) -> None:
        history = self.alone().produce(1, "b", at=1).hit("wipe-disk", 1).assigned("c-1")
        assert broken(self.judge, self.replaced(history)) == ["leader"]


# --- aborted reads (KIP101-INV-17)


class TestRefusedWrites:
    judge = records.refused_writes_are_never_read

    def test_a_write_that_was_refused_and_is_read(self) -> None:
        history = LogHistory().settled(1, 0).produce(1, "a", error=Error.NOT_ENOUGH_REPLICAS).whole(1, A, epoch=0, hw=1)
        assert broken(self.judge, history) == ["refused"]
        assert labels(self.judge, history) == {"aborted-read"}

    def test_a_write_that_was_refused_and_is_delivered(self) -> None:
        history = (
            LogHistory().settled(1, 0).produce(1, "a", error=Error.NOT_ENOUGH_REPLICAS).delivered("c-1", 0, 0, "a")
        )
        assert broken(self.judge, history.whole(1, epoch=0, hw=1)) == ["refused"]

    def test_a_write_that_was_refused_and_is_not_there(self) -> None:
        history = LogHistory().settled(1, 0).produce(1, "x", error=Error.NOT_ENOUGH_REPLICAS).whole(1, A, epoch=0, hw=1)
        assert held(self.judge, history) == ["refused"]

    @pytest.mark.parametrize("error", [Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.REQUEST_TIMED_OUT])
    def test_a_write_that_was_appended_first(self, error: Error) -> None:
        history = LogHistory().settled(1, 0).produce(1, "a", error=error).whole(1, A, epoch=0, hw=1)
        assert judged_by(self.judge, history) == []

    def test_a_write_that_was_tried_again(self) -> None:
        history = LogHistory().settled(1, 0).produce(1, "a", error=Error.NOT_ENOUGH_REPLICAS).produce(1, "a", at=0)
        assert judged_by(self.judge, history.whole(1, A, epoch=0, hw=1)) == []

    def test_nobody_looked(self) -> None:
        assert judged_by(self.judge, LogHistory().settled(1, 0).produce(1, "a", error=Error.NOT_ENOUGH_REPLICAS)) == []


# --- replicated batches (KIP101-STAMP-03)


class TestReplicatedBatches:
    judge = records.followers_keep_leader_epochs_and_bytes

    def rested(self, *batches: object, start: int = 0) -> LogHistory:
        history = LogHistory().settled(1, 1).at_rest().whole(1, BOTH, stamped(1, 2, "c"), epoch=1, hw=3)
        return history.whole(2, *batches, epoch=1, hw=3, start=start)  # type: ignore[arg-type]

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
        history = self.rested(stamped(0, 0, "a", "x"), stamped(1, 2, "c"), start=1)
        assert broken(self.judge, history) == ["replicated"]

    def test_equal_logs(self) -> None:
        assert held(self.judge, self.rested(BOTH, stamped(1, 2, "c"))) == ["replicated"]

    def test_log_starts_that_differ(self) -> None:
        assert held(self.judge, self.rested(stamped(1, 2, "c"), start=2)) == ["replicated"]
        assert held(self.judge, self.rested(BOTH, stamped(1, 2, "c"), start=1)) == ["replicated"]

    def test_a_log_trimmed_to_its_end(self) -> None:
        assert held(self.judge, self.rested(start=3)) == []

    def test_before_the_rest_a_follower_may_lag(self) -> None:
        history = LogHistory().settled(1, 1).whole(1, BOTH, epoch=1, hw=0).whole(2, epoch=1, hw=0)
        assert held(self.judge, history.at_rest().whole(1, BOTH, epoch=1, hw=2)) == []

    def test_disks_that_differ_where_the_wire_agrees(self) -> None:
        history = self.rested(BOTH, stamped(1, 2, "c"))
        one, other = (held_on_disk(broker, BOTH, epochs=((0, 0),)) for broker in (1, 2))
        assert held(self.judge, history.on_disk(one, other)) == ["replicated", "replicated"]
        other = held_on_disk(2, stamped(0, 0, "a", "y"), epochs=((0, 0),))
        assert broken(self.judge, history.on_disk(one, other)) == ["replicated"]
        assert labels(self.judge, history) == {"divergent-prefix"}

    def test_compacted_logs_and_lost_epoch_files_are_not_compared(self) -> None:
        for history in (LogHistory().created(cleanup_policy="compact"), LogHistory().hit("remove-epoch-checkpoint", 2)):
            history.settled(1, 1).at_rest().whole(1, BOTH, epoch=1, hw=2).whole(2, A, epoch=1, hw=1)
            assert judged_by(self.judge, history) == []
        assert excused(self.judge, history) == [("replicated", EPOCHS_LOST)]
