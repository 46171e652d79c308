"""The judges of positions that readers come back with: each catches what it is there for, and is silent on what is honest."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import COMPACTED, ELECTED_UNCLEANLY_ON_REQUEST, LOG_START_SET_BACK
from conformance.judging.judge import Judge
from conformance.judging.log import fetch_positions
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused, held, judged_by, labels

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
LOG = (A, stamped(1, 1, "b2"), stamped(1, 2, "c2"))
"""Epoch 0 up to 1, epoch 1 up to 3."""


def led(epoch: int = 2) -> LogHistory:
    """2 leads, and what it holds was read."""
    return LogHistory().settled(2, epoch).whole(2, *LOG, epoch=epoch, hw=3)


def asked(history: LogHistory, offset: int, last: int, broker: int = 2, epoch: int = 2, **how: object) -> LogHistory:
    """A fetch from a position, with nothing more to serve."""
    return history.fetch(broker, epoch=epoch, hw=3, offset=offset, last=last, **how)  # type: ignore[arg-type]


class TestGenuinePairs:
    judge = fetch_positions.valid_positions_are_not_reported_as_truncated

    def test_pairs_that_are_served(self) -> None:
        assert held(self.judge, asked(asked(led(), 1, 0), 3, 1)) == ["fetch", "fetch"]

    def test_a_pair_that_is_called_diverged(self) -> None:
        assert broken(self.judge, asked(led(), 3, 1, diverging=(1, 2))) == ["fetch"]

    def test_a_pair_that_was_read_only_after(self) -> None:
        history = asked(LogHistory().settled(2, 2), 3, 1, diverging=(1, 2)).whole(2, *LOG, epoch=2, hw=3)
        assert broken(self.judge, history) == ["fetch"]
        appended = asked(LogHistory().settled(2, 1), 3, 1, epoch=1, diverging=(1, 2)).whole(2, *LOG, epoch=1, hw=3)
        assert judged_by(self.judge, appended) == []

    def test_a_pair_that_the_answerer_does_not_hold(self) -> None:
        assert held(self.judge, asked(led(), 2, 0, diverging=(0, 1))) == []

    def test_a_lookup_below_a_record_of_the_epoch(self) -> None:
        assert broken(self.judge, led().epoch_end(2, 1, (1, 2), 2)) == ["lookup"]
        assert broken(self.judge, led().epoch_end(2, 0, (-1, -1), 2)) == ["lookup"]
        assert held(self.judge, led().epoch_end(2, 1, (1, 3), 2).epoch_end(2, 0, (0, 1), 2)) == ["lookup"] * 2

    def test_a_lookup_of_an_epoch_without_records(self) -> None:
        assert held(self.judge, led().epoch_end(2, 2, (2, 3), 2).epoch_end(2, 3, (-1, -1), 2)) == []

    def test_an_epoch_that_was_trimmed_meanwhile(self) -> None:
        history = led().trim(2, 2).epoch_end(2, 0, (0, 2), 2)
        assert held(self.judge, history) == ["lookup"]

    def test_a_follower_that_was_read_before_and_after(self) -> None:
        history = LogHistory().settled(2, 2).whole(3, *LOG, epoch=2, hw=3)
        asked(history, 3, 1, broker=3, diverging=(1, 2))
        assert judged_by(self.judge, history) == []
        assert broken(self.judge, history.whole(3, *LOG, epoch=2, hw=3)) == ["fetch"]

    def test_a_follower_that_was_cut_meanwhile(self) -> None:
        history = LogHistory().settled(2, 2).whole(3, A, B, C, epoch=2, hw=1)
        asked(history, 3, 0, broker=3, diverging=(0, 1)).whole(3, *LOG, epoch=2, hw=3)
        assert judged_by(self.judge, history) == []

    @pytest.mark.parametrize("fault", ["remove-epoch-checkpoint", "cut-tail-above"])
    def test_a_replica_whose_epochs_were_lost(self, fault: str) -> None:
        history = LogHistory().settled(2, 1).hit(fault, 2).heal(fault, 2).settled(2, 2).whole(2, *LOG, epoch=2, hw=3)
        assert judged_by(self.judge, asked(history, 3, 1, diverging=(1, 2))) == []

    def test_another_epoch_is_another_log(self) -> None:
        """Its leader may have been cut in between."""
        history = led().settled(1, 3).settled(2, 4)
        assert judged_by(self.judge, asked(history, 3, 1, epoch=4, diverging=(0, 1))) == []


class TestGenuinePositions:
    judge = fetch_positions.valid_fetch_positions_do_not_diverge

    def test_roles(self) -> None:
        history = asked(led(), 3, 1).whole(3, *LOG, epoch=2, hw=3)
        asked(history, 3, 1, broker=3).whole(3, *LOG, epoch=2, hw=3).epoch_end(2, 1, (1, 3), 2)
        assert held(self.judge, history) == ["fetch", "follower", "lookup"]

    def test_a_position_that_is_called_diverged(self) -> None:
        history = asked(led(), 3, 1, diverging=(1, 2)).whole(3, *LOG, epoch=2, hw=3)
        asked(history, 3, 1, broker=3, diverging=(1, 2)).whole(3, *LOG, epoch=2, hw=3)
        assert broken(self.judge, history) == ["fetch", "follower"]

    def test_a_position_that_is_called_out_of_range(self) -> None:
        history = led().refused(2, 2, Error.OFFSET_OUT_OF_RANGE, offset=3, last=1)
        assert judged_by(self.judge, history) == []
        assert broken(self.judge, history.whole(2, *LOG, epoch=2, hw=3)) == ["fetch"]

    def test_a_position_that_the_log_start_passed(self) -> None:
        history = led().refused(2, 2, Error.OFFSET_OUT_OF_RANGE, offset=1, last=0)
        assert held(self.judge, history.whole(2, LOG[2], epoch=2, hw=3, start=2)) == []

    def test_a_listed_position_with_an_epoch_that_left_no_entry(self) -> None:
        history = led(2).latest(2, 3, epoch=2).settled(1, 3).whole(1, *LOG, epoch=3, hw=3)
        assert held(self.judge, asked(history, 3, 2, broker=1, epoch=3, diverging=(1, 3))) == ["fetch"]
        history = led(2).latest(2, 3, epoch=2).settled(1, 3).whole(1, *LOG, epoch=3, hw=3)
        assert broken(self.judge, asked(history, 3, 2, broker=1, epoch=3, diverging=(1, 2))) == ["fetch"]


def given_and_lost(hw: int = 2) -> LogHistory:
    """1 leads and gives a consumer two records, of which `hw` are committed; then 2 leads."""
    history = LogHistory().settled(1, 0).fetch(1, A, B, epoch=0, hw=hw)
    return history.settled(2, 1)


class TestGivenPositions:
    """No full read shows that the next leader ever had the record."""

    judge = fetch_positions.valid_fetch_positions_do_not_diverge

    def test_a_committed_record_that_the_next_leader_calls_truncated(self) -> None:
        history = asked(given_and_lost(), 2, 0, epoch=1, diverging=(0, 1))
        assert broken(self.judge, history) == ["fetch"]
        assert labels(self.judge, history) == {"false-truncation"}

    def test_one_that_an_unclean_election_lost(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, A, B, epoch=0, hw=2).elect_uncleanly(2).settled(2, 1)
        asked(history, 2, 0, epoch=1, diverging=(0, 1))
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("fetch", ELECTED_UNCLEANLY_ON_REQUEST)]

    def test_one_that_no_earlier_election_lost(self) -> None:
        history = LogHistory().elect_uncleanly(1).settled(1, 0).fetch(1, A, B, epoch=0, hw=2).settled(2, 1)
        assert broken(self.judge, asked(history, 2, 0, epoch=1, diverging=(0, 1))) == ["fetch"]

    def test_a_record_that_was_not_committed(self) -> None:
        assert judged_by(self.judge, asked(given_and_lost(hw=1), 2, 0, epoch=1, diverging=(0, 1))) == []

    def test_a_position_of_another_epoch_or_past_the_record(self) -> None:
        assert judged_by(self.judge, asked(given_and_lost(), 3, 0, epoch=1, diverging=(0, 2))) == []
        history = LogHistory().settled(1, 0).fetch(1, A, stamped(1, 1, "b"), epoch=0, hw=2).settled(2, 2)
        assert judged_by(self.judge, asked(history, 2, 0, diverging=(0, 1))) == []

    def test_a_follower_that_does_not_have_it_yet(self) -> None:
        assert judged_by(self.judge, asked(given_and_lost(), 2, 0, broker=3, epoch=1, diverging=(0, 1))) == []

    def test_a_leader_of_an_older_epoch(self) -> None:
        history = LogHistory().settled(1, 0).settled(2, 1).fetch(2, A, B, epoch=1, hw=2)
        assert judged_by(self.judge, asked(history, 2, 0, broker=1, epoch=0, diverging=(0, 1))) == []


class TestTruncationIsReported:
    judge = fetch_positions.truncation_is_reported

    def test_a_truncated_reader_gets_a_diverging_epoch(self) -> None:
        assert held(self.judge, asked(led(), 3, 0, diverging=(0, 1))) == ["consumer"]

    def test_a_cut_reader_that_is_served(self) -> None:
        history = led().fetch(2, LOG[2], epoch=2, hw=3, offset=2, last=0)
        assert broken(self.judge, history) == ["consumer"]
        assert judged_by(self.judge, history)[-1].label == "silent-truncation"
        assert broken(self.judge, asked(led(), 3, 0)) == ["consumer"]

    def test_an_epoch_that_the_leader_never_had(self) -> None:
        log = (A, stamped(0, 1, "b"))
        history = LogHistory().settled(2, 4).whole(2, *log, epoch=4, hw=2)
        assert held(self.judge, asked(history, 2, 3, epoch=4, diverging=(0, 2))) == ["floor"]
        history = LogHistory().settled(2, 4).whole(2, *log, epoch=4, hw=2)
        assert broken(self.judge, asked(history, 2, 3, epoch=4)) == ["floor"]

    def test_readers_that_stand_where_the_log_does(self) -> None:
        assert held(self.judge, asked(asked(led(), 1, 0), 3, 1)) == []

    def test_a_claim_that_goes_further_back_than_the_stamp(self) -> None:
        """The test is one-sided: that epoch 1 was fetched up to 1, where epoch 0 is held, is not refused."""
        assert held(self.judge, asked(led(), 1, 1)) == []

    def test_a_reader_without_epochs_or_of_an_old_version(self) -> None:
        assert held(self.judge, led().fetch(2, LOG[2], epoch=2, hw=3, offset=2)) == []
        old = led()
        old.fetch(2, LOG[2], epoch=2, hw=3, offset=2, last=0, version=11)
        assert judged_by(self.judge, old) == []

    def test_a_position_at_the_log_start_of_a_trimmed_log(self) -> None:
        history = led().trim(2, 2).fetch(2, LOG[2], epoch=2, hw=3, start=2, last=0)
        assert held(self.judge, history) == []

    def test_a_crash_that_sets_the_log_start_back_behind_a_map_that_was_trimmed(self) -> None:
        history = LogHistory().settled(2, 0).trim(2, 2).restart(2).settled(2, 2).whole(2, *LOG, epoch=2, hw=3)
        assert judged_by(self.judge, history.fetch(2, LOG[2], epoch=2, hw=3, offset=2, last=0)) == []
        assert excused(self.judge, history) == [("consumer", LOG_START_SET_BACK)]

    def test_an_epoch_whose_records_may_be_compacted_away(self) -> None:
        history = LogHistory().created(cleanup_policy="compact").settled(2, 4).whole(2, A, B, epoch=4, hw=2)
        assert judged_by(self.judge, asked(history, 2, 3, epoch=4)) == []
        assert excused(self.judge, history) == [("floor", COMPACTED)]
        later = LogHistory().created(cleanup_policy="compact").settled(2, 2).whole(2, *LOG, epoch=2, hw=3)
        assert broken(self.judge, asked(later, 3, 0)) == ["consumer"]

    def test_a_follower(self) -> None:
        history = LogHistory().settled(2, 2).whole(3, *LOG, epoch=2, hw=3)
        history.fetch(3, LOG[2], epoch=2, hw=3, offset=2, last=0).whole(3, *LOG, epoch=2, hw=3)
        assert broken(self.judge, history) == ["follower"]

    def test_an_old_leader_with_an_entry_that_nobody_filled(self) -> None:
        """Its own epoch without records is the newest of its map until it copies one of a later epoch."""
        history = LogHistory().settled(2, 4).whole(3, A, B, epoch=4, hw=2)
        asked(history, 2, 3, broker=3, epoch=4).whole(3, A, B, epoch=4, hw=2)
        assert judged_by(self.judge, history) == []


class TestRangeErrors:
    judge: Judge = fetch_positions.out_of_range_is_below_the_log_start

    def refused(self, history: LogHistory, offset: int, last: int) -> LogHistory:
        return history.refused(2, 2, Error.OFFSET_OUT_OF_RANGE, offset=offset, last=last)

    def test_below_the_log_start(self) -> None:
        history = LogHistory().settled(2, 2).whole(2, LOG[2], epoch=2, hw=3, start=2)
        assert held(self.judge, self.refused(history, 1, 0)) == ["range-error"]

    def test_an_epoch_that_is_unknown(self) -> None:
        assert held(self.judge, self.refused(led(), 3, 3)) == ["range-error"]

    def test_within_the_log(self) -> None:
        history = self.refused(led(), 2, 0).whole(2, *LOG, epoch=2, hw=3)
        assert broken(self.judge, history) == ["range-error"]

    def test_past_the_end(self) -> None:
        history = self.refused(led(), 7, 1).whole(2, *LOG, epoch=2, hw=3)
        assert broken(self.judge, history) == ["past-end"]
        served = asked(led(), 7, 2).whole(2, *LOG, epoch=2, hw=3)
        assert broken(self.judge, served) == ["past-end"]

    def test_past_the_end_gets_a_diverging_epoch(self) -> None:
        assert held(self.judge, asked(led(), 7, 2, diverging=(2, 3))) == ["past-end"]
        assert held(self.judge, asked(led(), 7, 1, diverging=(1, 3)).whole(2, *LOG, epoch=2, hw=3)) == ["past-end"]

    def test_a_log_start_that_may_have_risen_meanwhile(self) -> None:
        history = self.refused(led(), 1, 0).whole(2, LOG[2], epoch=2, hw=3, start=2)
        assert held(self.judge, history) == []

    def test_a_reader_that_names_no_epoch(self) -> None:
        history = self.refused(led(), 7, -1).whole(2, *LOG, epoch=2, hw=3)
        assert held(self.judge, history) == []

    def test_a_follower_that_has_not_heard_of_the_epoch(self) -> None:
        history = LogHistory().settled(2, 2).whole(3, A, epoch=2, hw=1)
        history.refused(3, 2, Error.OFFSET_OUT_OF_RANGE, offset=3, last=1).whole(3, A, epoch=2, hw=1)
        assert judged_by(self.judge, history) == []


class TestGivenPairs:
    """INV-20: the same for every (offset, epoch), by Fetch and by OffsetForLeaderEpoch."""

    judge = fetch_positions.valid_positions_are_not_reported_as_truncated

    def test_a_committed_record_that_the_next_leader_calls_truncated(self) -> None:
        assert broken(self.judge, asked(given_and_lost(), 2, 0, epoch=1, diverging=(0, 1))) == ["fetch"]

    @pytest.mark.parametrize("end", [(0, 1), (-1, -1)])
    def test_its_epoch_ends_below_it(self, end: tuple[int, int]) -> None:
        assert broken(self.judge, given_and_lost().epoch_end(2, 0, end, 1)) == ["lookup"]

    def test_its_epoch_ends_above_it(self) -> None:
        assert judged_by(self.judge, given_and_lost().epoch_end(2, 0, (0, 2), 1)) == []

    def test_a_record_that_was_not_committed(self) -> None:
        assert judged_by(self.judge, given_and_lost(hw=1).epoch_end(2, 0, (0, 1), 1)) == []

    def test_a_record_that_the_log_start_passed(self) -> None:
        assert judged_by(self.judge, given_and_lost().trim(2, 2).epoch_end(2, 0, (-1, -1), 1)) == []
        assert broken(self.judge, given_and_lost().trim(2, 1).epoch_end(2, 0, (0, 1), 1)) == ["lookup"]

    def test_one_that_an_unclean_election_lost(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, A, B, epoch=0, hw=2).elect_uncleanly(2).settled(2, 1)
        assert judged_by(self.judge, history.epoch_end(2, 0, (0, 1), 1)) == []
        assert excused(self.judge, history) == [("lookup", ELECTED_UNCLEANLY_ON_REQUEST)]
