"""The judges of offsets that brokers answer: each catches what it is there for, and is silent on an honest history."""

from __future__ import annotations

from copy import deepcopy

import pytest

from conformance.judging.excuses import RISEN
from conformance.judging.judge import Judge
from conformance.judging.log import offsets
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused, held, judged_by

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")


# --- the leader's watermark (KIP101-INV-08)


class TestWatermark:
    judge = offsets.high_watermark_never_falls_on_a_leader

    def test_a_watermark_that_falls_on_a_leader(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=2).fetch(1, A, epoch=0, hw=1)
        assert broken(self.judge, history) == ["watermark"]

    def test_a_log_start_that_falls_on_a_leader(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, B, epoch=0, hw=2, start=1).whole(1, A, B, epoch=0, hw=2)
        assert broken(self.judge, history) == ["log-start"]

    def test_both_may_rise_or_stay(self) -> None:
        """It counts where something happened in between."""
        history = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1)
        assert held(self.judge, history.whole(1, A, B, epoch=0, hw=2)) == []
        assert held(self.judge, history.trim(1, 1).whole(1, B, epoch=0, hw=2, start=1)) == ["log-start"]
        history.kill(3).settled(1, 0, isr=(1, 2)).whole(1, B, epoch=0, hw=2, start=1)
        assert held(self.judge, history) == ["log-start", "watermark", "log-start"]

    def test_a_followers_may_fall_when_it_meets_a_new_leader(self) -> None:
        history = (
            LogHistory()
            .settled(1, 0)
            .whole(3, A, B, epoch=0, hw=2)
            .move(1, 2)
            .settled(2, 1)
            .whole(3, A, B, epoch=1, hw=1)
        )
        assert held(self.judge, history) == []
        assert held(self.judge, history.whole(3, A, B, epoch=1, hw=0)) == []

    def test_the_next_leader_may_begin_lower(self) -> None:
        """Its own watermark lags by a fetch, and its log start by a trim that it had not heard of."""
        history = LogHistory().settled(1, 0).whole(1, B, epoch=0, hw=2, start=1).move(1, 2).settled(2, 1)
        assert held(self.judge, history.whole(2, A, B, epoch=1, hw=1)) == []

    def test_a_leader_elected_again_starts_over(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=2).settled(2, 1).settled(1, 2)
        assert held(self.judge, history.whole(1, A, B, epoch=2, hw=1)) == []

    def test_a_leader_that_is_restarted_for_a_fault_to_be_taken_back(self) -> None:
        """The fault may count as healed only later, with another."""
        effects = Effects(process="restarts-when-healed", abrupt=True, fails_writes=True)
        history = LogHistory().settled(1, 0).hit("failed-directory", 1, effects=effects, partition="other-0")
        history.whole(1, A, B, epoch=0, hw=2)
        assert broken(self.judge, deepcopy(history).whole(1, A, B, epoch=0, hw=1)) == ["watermark"]
        assert broken(self.judge, history.healing("failed-directory").whole(1, A, B, epoch=0, hw=1)) == []

    def test_a_restarted_leader_begins_at_its_checkpoint(self) -> None:
        """Releases before 4.0 may let it lead on at the same epoch."""
        history = (
            LogHistory().settled(1, 0).whole(1, B, epoch=0, hw=2, start=1).restart(1).whole(1, A, B, epoch=0, hw=0)
        )
        assert judged_by(self.judge, history) == []


# --- offsets of one answer (KIP101-INV-09)

LATEST = offsets.latest_offset_is_within_the_fetch_limit


class TestOffsetsOfOneAnswer:
    judge = offsets.offsets_of_one_answer_are_ordered

    def test_a_watermark_above_the_log_end(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=3)) == ["log"]

    def test_a_watermark_below_the_log_start(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).whole(2, B, epoch=0, hw=0, start=1)) == ["log"]

    def test_a_stable_offset_above_the_watermark(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).fetch(1, A, epoch=0, hw=1, lso=2)) == ["stable"]

    def test_a_stable_offset_that_follows_the_log_end(self) -> None:
        """Each time replication makes it look like a coincidence, but it happens each time."""
        history = LogHistory().settled(1, 0).fetch(1, epoch=0, hw=0, lso=1).fetch(1, A, epoch=0, hw=1, lso=2)
        assert broken(self.judge, history.fetch(1, A, B, epoch=0, hw=2)) == ["stable", "stable"]
        assert excused(self.judge, history) == []

    def test_an_earliest_offset_above_the_latest(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).earliest(1, 3).latest(1, 2)) == ["listed"]

    def listed(self, offset: int, before: int = 1) -> LogHistory:
        """A leader lists its latest offset between two answers to consumers, with these high watermarks."""
        history = LogHistory().settled(1, 0).fetch(1, A, epoch=0, hw=before).latest(1, offset, epoch=0)
        return history.fetch(1, A, B, epoch=0, hw=2)

    @pytest.mark.parametrize("judge", [offsets.offsets_of_one_answer_are_ordered, LATEST])
    def test_a_latest_offset_below_or_above_what_consumers_may_read(self, judge: Judge) -> None:
        for offset in (0, 3):
            assert [one.result for one in judged_by(judge, self.listed(offset)) if one.case != "stable"] == ["violated"]
        for offset in (1, 2):
            assert [one.result for one in judged_by(judge, self.listed(offset)) if one.case != "stable"] == ["held"]

    def test_a_latest_offset_that_any_broker_could_have_listed(self) -> None:
        assert judged_by(LATEST, self.listed(0, before=0)) == []
        assert [one.result for one in judged_by(LATEST, self.listed(2, before=0))] == ["held"]
        assert judged_by(LATEST, LogHistory().settled(1, 0).latest(1, 0, epoch=0).fetch(1, A, epoch=0, hw=1)) == []

    def test_a_latest_offset_of_a_new_process(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, A, epoch=0, hw=2).restart(1)
        assert judged_by(LATEST, history.latest(1, 0, epoch=0).fetch(1, A, epoch=0, hw=2)) == []

    def test_honest_offsets(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1).earliest(1, 0).latest(1, 1)
        assert held(self.judge, history) == ["log", "listed"]

    def test_an_empty_log_and_one_trimmed_to_its_end(self) -> None:
        history = (
            LogHistory()
            .settled(1, 0)
            .whole(1, epoch=0, hw=0)
            .whole(1, epoch=0, hw=3, start=3)
            .whole(2, epoch=0, hw=3, start=3)
        )
        assert held(self.judge, history.earliest(1, 3).latest(1, 3)) == ["log", "log", "listed"]

    def test_a_log_that_ends_with_a_marker(self) -> None:
        """Control batches are no records, but they have offsets."""
        both = (A, stamped(0, 1, "commit", control=True))
        history = LogHistory().settled(1, 0).whole(1, *both, epoch=0, hw=2)
        assert held(self.judge, history) == []
        assert held(self.judge, history.kill(3).whole(1, *both, epoch=0, hw=2)) == ["log", "stable"]

    def test_an_unclosed_transaction_holds_the_stable_offset_back(self) -> None:
        assert held(self.judge, LogHistory().settled(1, 0).fetch(1, A, B, epoch=0, hw=2, lso=1)) == ["stable"]

    def test_a_watermark_that_rose_while_the_answer_was_made(self) -> None:
        """A broker reads it first and the others after it, without a lock; the next answer shows that it rose."""
        history = LogHistory().settled(1, 0).whole(1, A, B, epoch=0, hw=1, lso=2).whole(1, A, B, epoch=0, hw=2)
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("stable", RISEN)]
        history = LogHistory().settled(1, 0).whole(2, C, epoch=0, hw=1, start=2).whole(2, C, epoch=0, hw=3, start=2)
        assert held(self.judge, history) == ["log"]

    def test_ends_that_were_asked_for_at_different_times(self) -> None:
        """Between them the broker came back with an older log start and watermark."""
        history = LogHistory().settled(1, 0).earliest(1, 3).restart(1).settled(1, 2).latest(1, 2)
        history.earliest(2, 3).latest(1, 2).earliest(1, 3).latest(1, -1, error=Error.OFFSET_NOT_AVAILABLE)
        assert held(self.judge, history) == []


# --- end offsets over epochs (KIP101-INV-14)


def rested(*batches: object, start: int = 0, hw: int = 3) -> LogHistory:
    """At rest, with the leader of epoch 2 read whole."""
    return LogHistory().settled(1, 2).at_rest().whole(1, *batches, epoch=2, hw=hw, start=start)  # type: ignore[arg-type]


THREE = (A, stamped(1, 1, "b"), stamped(2, 2, "c"))


class TestEndOffsets:
    judge = offsets.epoch_end_offsets_grow_with_the_epoch

    def test_an_end_that_falls(self) -> None:
        history = rested(*THREE).epoch_end(1, 0, (0, 2), 2).epoch_end(1, 1, (1, 1), 2).epoch_end(1, 2, (2, 3), 2)
        assert broken(self.judge, history) == ["vector"]

    @pytest.mark.parametrize("answer", [(2, 2), (2, 4), (1, 2)])
    def test_a_newest_epoch_that_does_not_end_the_log(self, answer: tuple[int, int]) -> None:
        history = rested(*THREE).epoch_end(1, 0, (0, 1), 2).epoch_end(1, 1, (1, 2), 2).epoch_end(1, 2, answer, 2)
        assert broken(self.judge, history) == ["vector"]

    def test_ends_that_grow_to_the_log_end(self) -> None:
        history = rested(*THREE).epoch_end(1, 0, (0, 1), 2).epoch_end(1, 1, (1, 2), 2).epoch_end(1, 2, (2, 3), 2)
        assert held(self.judge, history) == ["vector"] * 3

    def test_epochs_without_records(self) -> None:
        """Asked for an epoch that wrote nothing, the leader names the one below it, or none."""
        history = rested(A, hw=1).epoch_end(1, 0, (0, 1), 2).epoch_end(1, 1, (0, 1), 2).epoch_end(1, 2, (2, 1), 2)
        assert held(self.judge, history) == ["vector"] * 3

    def test_epochs_that_were_trimmed_away(self) -> None:
        history = rested(start=3).epoch_end(1, 0, (0, 3), 2).epoch_end(1, 1, (1, 3), 2).epoch_end(1, 2, (2, 3), 2)
        assert held(self.judge, history) == ["vector"] * 3
        unknown = rested(start=3).epoch_end(1, 0, (-1, -1), 2).epoch_end(1, 2, (2, 3), 2)
        assert [o.result for o in judged_by(self.judge, unknown)] == ["held"]

    def test_an_empty_log(self) -> None:
        assert held(self.judge, rested(hw=0).epoch_end(1, 2, (2, 0), 2)) == ["vector"]

    def test_a_leader_that_changed_meanwhile(self) -> None:
        """The last question is refused, so the last answer is not of the newest epoch."""
        history = rested(*THREE).epoch_end(1, 0, (0, 1), 2).epoch_end(1, 1, (1, 2), 2)
        history.epoch_end(1, 2, (-1, -1), 2, error=Error.FENCED_LEADER_EPOCH)
        assert held(self.judge, history) == ["vector"]
        late = rested(*THREE).settled(2, 3).epoch_end(2, 2, (2, 3), 3).epoch_end(2, 3, (3, 5), 3)
        assert held(self.judge, late) == ["vector"]

    def test_what_was_asked_before_the_rest_is_no_instance(self) -> None:
        history = LogHistory().settled(1, 2).epoch_end(1, 1, (1, 2), 2).epoch_end(1, 2, (2, 1), 2)
        assert held(self.judge, history) == []
        assert held(self.judge, history.at_rest()) == []


# --- answers against the model (KIP320-OFLE-08)


def vector(history: LogHistory, *answers: tuple[int, int], current: int = 2, broker: int = 1) -> LogHistory:
    """The answers to epochs from -2 on."""
    for epoch, answer in enumerate(answers, -2):
        history.epoch_end(broker, epoch, answer, current)
    return history


NONE = (-1, -1)


class TestModel:
    judge = offsets.epoch_end_offsets_match_the_log

    def test_a_leader_whose_map_is_what_its_stamps_say(self) -> None:
        history = vector(rested(*THREE), (-2, 0), NONE, (0, 1), (1, 2), (2, 3), NONE, NONE)
        assert held(self.judge, history) == ["running"] * 7

    @pytest.mark.parametrize(
        "answers",
        [
            ((-2, 0), NONE, (0, 2), (1, 2), (2, 3), NONE),
            ((-2, 0), NONE, (0, 1), (0, 1), (2, 3), NONE),
            ((-2, 0), NONE, (0, 1), (1, 2), (2, 3), (2, 3)),
            (NONE, NONE, (0, 1), (1, 2), (2, 3), NONE),
            ((-2, 1), NONE, (0, 1), (1, 2), (2, 3), NONE),
        ],
        ids=["a later end", "an entry that is missing", "a future epoch", "no first entry", "a first entry too high"],
    )
    def test_an_answer_that_the_log_does_not_bear_out(self, answers: tuple[tuple[int, int], ...]) -> None:
        assert broken(self.judge, vector(rested(*THREE), *answers)) == ["running"]

    def test_epochs_without_records_have_no_entry_but_the_newest(self) -> None:
        history = vector(rested(A, B, hw=2), (-2, 0), NONE, (0, 2), (0, 2), (2, 2), NONE)
        assert held(self.judge, history) == ["running"] * 6
        own = vector(rested(A, B, hw=2), (-2, 0), NONE, (0, 2), (1, 2), (2, 2), NONE)
        assert broken(self.judge, own) == ["running"]

    def test_a_leader_that_was_restarted(self) -> None:
        history = LogHistory().settled(1, 1).restart(1).settled(1, 2).at_rest().whole(1, *THREE, epoch=2, hw=3)
        assert held(self.judge, vector(history, (-2, 0), NONE, (0, 1), (1, 2), (2, 3))) == ["restarted"] * 5
        history = LogHistory().settled(1, 1).restart(1).settled(1, 2).at_rest().whole(1, *THREE, epoch=2, hw=3)
        assert broken(self.judge, vector(history, (-2, 0), NONE, (0, 2))) == ["restarted"]

    def test_a_log_that_was_trimmed(self) -> None:
        three = stamped(0, 0, "a", "b", "c")
        history = vector(rested(three, stamped(2, 3, "d"), start=2, hw=4), (-2, 2), NONE, (0, 3), (0, 3), (2, 4), NONE)
        assert held(self.judge, history) == ["running", "trimmed"] * 6
        history = vector(rested(three, stamped(2, 3, "d"), start=2, hw=4), (-2, 0))
        assert broken(self.judge, history) == ["running", "trimmed"]

    def test_a_log_trimmed_to_its_end(self) -> None:
        history = vector(rested(start=3), (-2, 3), NONE, (0, 3), (1, 3), (2, 3), NONE)
        assert set(held(self.judge, history)) == {"running", "trimmed"}

    def test_a_crash_that_sets_the_log_start_back_behind_a_map_that_was_trimmed(self) -> None:
        """log-start-offset-checkpoint is written once a minute, leader-epoch-checkpoint at once."""
        history = (
            LogHistory().settled(1, 1).trim(1, 1).restart(1).settled(1, 2).at_rest().whole(1, *THREE, epoch=2, hw=3)
        )
        assert (
            held(self.judge, vector(history, (-2, 1), NONE, (0, 1), (1, 2), (2, 3), NONE))
            == ["restarted", "trimmed"] * 6
        )
        never = LogHistory().settled(1, 1).trim(1, 1).settled(1, 2).at_rest().whole(1, *THREE, epoch=2, hw=3)
        assert broken(self.judge, vector(never, (-2, 1))) == ["running"]

    def test_a_map_that_was_lost_a_log_with_holes_and_writes_meanwhile_are_no_instances(self) -> None:
        lost = LogHistory().settled(1, 1).hit("remove-epoch-checkpoint", 1).heal("remove-epoch-checkpoint", 1)
        lost.settled(1, 2).at_rest().whole(1, *THREE, epoch=2, hw=3)
        assert held(self.judge, vector(lost, (-2, 2), NONE, (0, 2), (1, 2), (2, 3))) == []
        compacted = LogHistory().created(cleanup_policy="compact").settled(1, 2).at_rest()
        compacted.whole(1, A, stamped(2, 9, "c"), epoch=2, hw=10)
        assert held(self.judge, vector(compacted, (-2, 0), NONE, (0, 5), (1, 8), (2, 10))) == []
        written = rested(*THREE).produce(1, "d", at=3)
        assert held(self.judge, vector(written, (-2, 0), NONE, (0, 1), (1, 2), (2, 4))) == []


# --- divergence (KIP101-INV-13)

SPLIT = (A, stamped(1, 1, "b2"), stamped(1, 2, "c2"))


class TestDivergence:
    judge = offsets.diverging_epochs_match_the_log

    def test_an_end_where_the_epoch_ended(self) -> None:
        history = LogHistory().settled(2, 1).whole(2, *SPLIT, epoch=1, hw=3)
        assert held(self.judge, history.fetch(2, epoch=1, hw=3, offset=3, last=0, diverging=(0, 1))) == ["leader"]
        history = LogHistory().settled(2, 1).fetch(2, epoch=1, hw=3, offset=3, last=0, diverging=(0, 1))
        assert held(self.judge, history.whole(2, *SPLIT, epoch=1, hw=3)) == ["leader"]

    @pytest.mark.parametrize(
        "judged_by", [(0, 0), (1, 2)], ids=["an end too low", "a batch of the epoch above its end"]
    )
    def test_an_end_below_records_of_that_epoch(self, judged_by: tuple[int, int]) -> None:
        history = LogHistory().settled(2, 2).whole(2, *SPLIT, epoch=2, hw=3)
        assert broken(self.judge, history.fetch(2, epoch=2, hw=3, offset=5, last=1, diverging=judged_by)) == ["leader"]

    def test_an_end_beyond_the_log(self) -> None:
        history = LogHistory().settled(2, 1).fetch(2, epoch=1, hw=3, offset=5, last=1, diverging=(1, 4))
        assert broken(self.judge, history.whole(2, *SPLIT, epoch=1, hw=3)) == ["leader"]

    def test_an_epoch_later_than_the_one_that_was_named(self) -> None:
        history = LogHistory().settled(2, 1).fetch(2, epoch=1, hw=3, offset=3, last=0, diverging=(1, 1))
        assert broken(self.judge, history) == ["leader"]
        assert broken(self.judge, history.fetch(3, epoch=-1, hw=3, offset=3, last=0, diverging=(1, 1))) == [
            "leader",
            "follower",
        ]

    def test_a_purged_epoch_ends_where_the_log_begins(self) -> None:
        history = LogHistory().settled(2, 1).whole(2, stamped(1, 0, "a", "b", "c"), epoch=1, hw=3, start=2)
        assert held(self.judge, history.fetch(2, epoch=1, hw=3, start=2, offset=3, last=0, diverging=(0, 2))) == [
            "leader"
        ]

    def test_a_follower_read_before_and_after(self) -> None:
        history = LogHistory().settled(2, 1).whole(3, *SPLIT, epoch=1, hw=3)
        history.fetch(3, epoch=1, hw=3, offset=3, last=0, diverging=(0, 1)).whole(3, *SPLIT, epoch=1, hw=3)
        assert held(self.judge, history) == ["follower"]
        history = LogHistory().settled(2, 1).whole(3, *SPLIT, epoch=1, hw=3)
        history.fetch(3, epoch=1, hw=3, offset=3, last=0, diverging=(0, 0)).whole(3, *SPLIT, epoch=1, hw=3)
        assert broken(self.judge, history) == ["follower"]

    def test_a_follower_that_may_have_been_cut_and_filled_meanwhile(self) -> None:
        """It answered from a log that was never read."""
        history = LogHistory().settled(2, 1).whole(3, A, B, epoch=1, hw=1)
        history.fetch(3, epoch=1, hw=1, offset=3, last=0, diverging=(0, 1))
        assert held(self.judge, history) == []
        assert held(self.judge, history.whole(3, *SPLIT, epoch=1, hw=3)) == []

    def test_what_a_leader_appended_after_it_answered(self) -> None:
        history = LogHistory().settled(2, 1).fetch(2, epoch=1, hw=3, offset=5, last=1, diverging=(1, 2))
        assert held(self.judge, history.produce(2, "c2", at=2).whole(2, *SPLIT, epoch=1, hw=3)) == ["leader"]

    def test_another_life_or_epoch_of_the_answerer_is_another_log(self) -> None:
        history = LogHistory().settled(2, 1).whole(2, *SPLIT, epoch=1, hw=3).restart(2).settled(2, 3)
        assert held(self.judge, history.fetch(2, epoch=3, hw=3, offset=3, last=1, diverging=(1, 2))) == []


def test_an_unclean_election_takes_the_other_replicas_down_too() -> None:
    """The one that is elected may have come back with a log start from before a trim, and a map from after it."""
    history = LogHistory().settled(1, 0).trim(1, 1)
    history.hit("unclean-election", 1, by="kill", own_topic=False).heal("unclean-election", 1).settled(2, 2)
    history.all_healed().at_rest().settled(2, 2).whole(2, A, B, epoch=2, hw=2)
    history = vector(history, (-2, 1), NONE, (0, 2), (0, 2), (2, 2), NONE, broker=2)
    assert broken(offsets.epoch_end_offsets_match_the_log, history) == []
