"""The judge of DeleteRecords: it catches what comes back, and is silent on what a crash, or an unclean election, brings back."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import (
    CHECKPOINT_NOT_DUE,
    DELETION_TIMED_OUT,
    ELECTED_UNCLEANLY_ON_REQUEST,
    NOT_REACHED,
)
from conformance.judging.log import delete_records
from protocol.codes import Error
from tests.support.histories import LogHistory, held_on_disk, stamped
from tests.support.judging import broken, excused, held, judged_by

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
JUDGE = delete_records.delete_records_reaches_all_live_replicas


def trimmed() -> LogHistory:
    """1 leads and is trimmed up to 2, with all replicas live and in sync before and after."""
    return LogHistory().settled(1, 0).trim(1, 2).settled(1, 0)


def rested(history: LogHistory, *starts: int) -> LogHistory:
    history.all_healed().settled(1, 0).at_rest()
    for broker, start in enumerate(starts, 1):
        log = [one for one in (A, B, C) if one.last_offset >= start]
        history.whole(broker, *log, epoch=0, hw=3, start=start)
    return history


class TestLowWatermark:
    def test_an_answer_at_or_above_what_was_asked(self) -> None:
        assert held(JUDGE, LogHistory().settled(1, 0).trim(1, 2).trim(1, -1, low=3)) == ["low-watermark"] * 2

    def test_an_answer_below_what_was_asked(self) -> None:
        assert broken(JUDGE, LogHistory().settled(1, 0).trim(1, 2, low=1)) == ["low-watermark"]

    def test_a_time_out_names_no_low_watermark(self) -> None:
        history = LogHistory().settled(1, 0).hit("pause-past-fencing", 3).trim(1, 2, error=Error.REQUEST_TIMED_OUT)
        for each in (history, LogHistory().settled(1, 0).trim(1, 2, error=Error.REQUEST_TIMED_OUT)):
            assert (held(JUDGE, each), excused(JUDGE, each)) == ([], [("low-watermark", DELETION_TIMED_OUT)])

    def test_a_wrong_low_watermark_beside_a_time_out(self) -> None:
        history = LogHistory().settled(1, 0).trim(1, 2, error=Error.REQUEST_TIMED_OUT).trim(1, 2, low=1)
        assert broken(JUDGE, history) == ["low-watermark"]

    def test_a_refusal(self) -> None:
        assert held(JUDGE, LogHistory().settled(1, 0).trim(1, 9, error=Error.OFFSET_OUT_OF_RANGE)) == []


class TestDeletedRecords:
    @pytest.mark.parametrize("broker", [1, 2])
    def test_a_replica_that_returns_them(self, broker: int) -> None:
        history = trimmed().fetch(broker, A, B, C, epoch=0, hw=3)
        assert broken(JUDGE, history) == ["log-start"]
        assert judged_by(JUDGE, history)[-1].label == "deleted-record-returned"

    def test_a_replica_that_starts_below_them(self) -> None:
        history = trimmed().fetch(2, C, epoch=0, hw=3, start=1, offset=2)
        assert [o.label for o in judged_by(JUDGE, history) if o.result == "violated"] == ["log-start-regression"]

    def test_replicas_that_start_above_them(self) -> None:
        history = trimmed().fetch(1, C, epoch=0, hw=3, start=2).whole(2, C, epoch=0, hw=3, start=2)
        assert held(JUDGE, history.fetch(2, C, epoch=0, hw=3, start=2)) == ["low-watermark", "log-start", "log-start"]

    def test_a_batch_that_the_log_start_cuts(self) -> None:
        history = trimmed().fetch(1, stamped(0, 0, "a", "b", "c"), epoch=0, hw=3, start=2)
        assert held(JUDGE, history) == ["low-watermark", "log-start"]

    def test_a_replica_that_crashed_since(self) -> None:
        """log-start-offset-checkpoint is written once a minute; what a new leader shows again is legal."""
        history = trimmed().restart(2).settled(2, 1).fetch(2, A, B, C, epoch=1, hw=3)
        assert [o.case for o in judged_by(JUDGE, history)] == ["low-watermark"]

    def test_a_replica_that_was_fenced_or_out_of_the_isr(self) -> None:
        for away in ({"isr": (1, 2)}, {"unfenced": (1, 2)}):
            history = LogHistory().settled(1, 0).metadata(1, 1, 0, **away)  # type: ignore[arg-type]
            history.trim(1, 2).settled(1, 0).fetch(3, A, B, C, epoch=0, hw=3)
            assert [o.case for o in judged_by(JUDGE, history)] == ["low-watermark"]
            assert excused(JUDGE, history) == [("log-start", NOT_REACHED)]

    def test_a_replica_that_was_cut_off_or_frozen(self) -> None:
        history = LogHistory().settled(1, 0).hit("paused-zombie", 3).trim(1, 2).heal("paused-zombie", 3).settled(1, 0)
        assert [o.case for o in judged_by(JUDGE, history.fetch(3, A, B, C, epoch=0, hw=3))] == ["low-watermark"]
        assert excused(JUDGE, history) == [("log-start", NOT_REACHED)]

    def test_a_follower_beside_one_that_is_down(self) -> None:
        history = LogHistory().hit("kill", 3).settled(1, 0).trim(1, 2).settled(1, 0).fetch(2, A, B, C, epoch=0, hw=3)
        assert broken(JUDGE, history) == ["log-start"]

    def test_an_unclean_election_since(self) -> None:
        """The elected replica may have lagged behind DeleteRecords, and the others truncate to its log."""
        history = trimmed().hit("unclean-election", 1, partition="topic-0", own_topic=False)
        history.heal("unclean-election", 1).settled(3, 4).fetch(2, A, epoch=4, hw=1)
        assert [o.case for o in judged_by(JUDGE, history)] == ["low-watermark"]

    def test_an_unclean_election_on_request_since(self) -> None:
        history = trimmed().elect_uncleanly(3).settled(3, 4).fetch(2, A, epoch=4, hw=1)
        assert [o.case for o in judged_by(JUDGE, history)] == ["low-watermark"]
        assert excused(JUDGE, history) == [("log-start", ELECTED_UNCLEANLY_ON_REQUEST)]
        history = trimmed().settled(3, 4).fetch(2, A, epoch=4, hw=1)
        assert broken(JUDGE, history) == ["log-start"]
        assert excused(JUDGE, history) == []

    def test_a_replica_that_was_taken_away_and_copied_again(self) -> None:
        history = trimmed().metadata(1, 1, 1, isr=(1, 3), replicas=(1, 3)).settled(1, 1)
        assert [o.case for o in judged_by(JUDGE, history.fetch(2, A, B, C, epoch=1, hw=3))] == ["low-watermark"]

    def test_a_read_that_was_asked_before(self) -> None:
        history = LogHistory().settled(1, 0).fetch(2, A, B, C, epoch=0, hw=3).trim(1, 2).settled(1, 0)
        assert held(JUDGE, history) == ["low-watermark"]


class TestTrimmedReplicasAtRest:
    def test_a_follower_that_copied_what_came_after_and_not_the_start(self) -> None:
        history = LogHistory().settled(1, 0).trim(1, 2, error=Error.REQUEST_TIMED_OUT).produce(1, "c", at=2)
        assert broken(JUDGE, rested(history, 2, 2, 0)) == ["log-start"]

    def test_followers_that_did(self) -> None:
        history = LogHistory().settled(1, 0).trim(1, 2, error=Error.REQUEST_TIMED_OUT).produce(1, "c", at=2)
        assert held(JUDGE, rested(history, 2, 2, 2)) == ["log-start"] * 2

    def test_a_follower_that_crashed_since_and_one_that_copied_nothing(self) -> None:
        history = LogHistory().settled(1, 0).trim(1, 2, error=Error.REQUEST_TIMED_OUT).produce(1, "c", at=2).restart(3)
        assert held(JUDGE, rested(history, 2, 2, 0)) == ["log-start"]
        history = LogHistory().settled(1, 0).trim(1, 2, error=Error.REQUEST_TIMED_OUT)
        assert held(JUDGE, rested(history, 2, 2, 0)) == []

    def test_a_follower_that_was_down_when_the_first_record_after_the_trim_was_written(self) -> None:
        """It copied the next one from the same leader, whose answer named the log start."""
        history = LogHistory().settled(1, 0).trim(1, 1, error=Error.REQUEST_TIMED_OUT).produce(1, "b", at=1)
        history.restart(3).produce(1, "c", at=2)
        assert broken(JUDGE, rested(history, 1, 1, 0)) == ["log-start"]

    def test_maps_that_begin_at_the_log_start(self) -> None:
        history = rested(trimmed(), 2, 2).later(5).on_disk(held_on_disk(1, C, epochs=((0, 2),), start=2))
        assert held(JUDGE, history)[-1] == "entries"

    @pytest.mark.parametrize("epochs", [((0, 0),), ((0, 0), (1, 1))])
    def test_maps_with_entries_before_it(self, epochs: tuple[tuple[int, int], ...]) -> None:
        history = rested(trimmed(), 2, 2).later(31).on_disk(held_on_disk(1, C, epochs=epochs, start=2))
        assert broken(JUDGE, history) == ["entries"]

    def test_a_file_that_is_written_behind_the_log(self) -> None:
        for history in (rested(trimmed(), 2, 2), rested(trimmed(), 2, 2).later(29), rested(trimmed(), 2, 2).asleep(60)):
            history.on_disk(held_on_disk(1, C, epochs=((0, 0),), start=2))
            assert broken(JUDGE, history) == []
            assert excused(JUDGE, history) == [("entries", CHECKPOINT_NOT_DUE)]


def behind(seen: int, *after: int, met: bool = True, seconds: float = 0.0) -> LogHistory:
    """3 is away while the log start of 1 moves to `seen`; 3 comes back, and all are read at the end."""
    history = LogHistory().settled(1, 0).hit("kill", 3).settled(1, 0, isr=(1, 2), unfenced=(1, 2))
    if seen:
        history.trim(1, seen)
    history.whole(1, *[one for one in (A, B, C) if one.last_offset >= seen], epoch=0, hw=3, start=seen)
    history.heal("kill", 3).all_healed().settled(1, 0).later(seconds).settled(1, 0).at_rest(met)
    for broker, start in enumerate(after, 1):
        history.whole(broker, *[one for one in (A, B, C) if one.last_offset >= start], epoch=0, hw=3, start=start)
    return history


class TestLogStartsInTheEnd:
    def test_a_follower_that_never_adopts_the_log_start(self) -> None:
        assert broken(JUDGE, behind(2, 2, 2, 0)) == ["log-start"]
        assert broken(JUDGE, behind(2, 2, 2, 0, met=False, seconds=31.0)) == ["log-start"]

    def test_a_follower_that_may_not_have_fetched_yet(self) -> None:
        assert broken(JUDGE, behind(2, 2, 2, 0, met=False, seconds=1.0)) == []

    def test_a_follower_behind_which_the_host_slept(self) -> None:
        history = LogHistory().settled(1, 0).hit("kill", 3).settled(1, 0, isr=(1, 2), unfenced=(1, 2)).trim(1, 2)
        history.whole(1, C, epoch=0, hw=3, start=2).heal("kill", 3).asleep(60)
        history.all_healed().settled(1, 0).later(16).settled(1, 0).at_rest(met=False)
        for broker, start in enumerate((2, 2, 0), 1):
            history.whole(broker, *[one for one in (A, B, C) if one.last_offset >= start], epoch=0, hw=3, start=start)
        assert broken(JUDGE, history) == []

    def test_a_log_start_that_the_leader_had_only_afterwards(self) -> None:
        """Retention may delete a segment between two reads."""
        assert broken(JUDGE, behind(0, 2, 2, 0)) == []

    def test_all_have_it(self) -> None:
        assert held(JUDGE, behind(2, 2, 2, 2))[-2:] == ["log-start", "log-start"]

    def test_a_follower_that_starts_above_its_leader(self) -> None:
        """Its retention deletes segments, too."""
        history = LogHistory().settled(1, 0).whole(1, A, B, C, epoch=0, hw=3).all_healed().settled(1, 0).at_rest()
        history.whole(1, A, B, C, epoch=0, hw=3).whole(2, C, epoch=0, hw=3, start=2)
        assert broken(JUDGE, history) == []

    def test_a_leader_that_forgot_its_log_start_in_a_crash(self) -> None:
        assert (
            broken(JUDGE, behind(2, 2, 2, 0).restart(1).settled(1, 0).at_rest().whole(1, A, B, C, epoch=0, hw=3)) == []
        )
