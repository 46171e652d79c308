"""The judges of leader epochs: each catches what it is there for, and is silent on an honest history."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import ELECTED_UNCLEANLY_ON_REQUEST, REASSIGNED, TRUNCATED_MEANWHILE
from conformance.judging.log import leader_epochs
from history.effects import Effects
from protocol.codes import Error
from protocol.records import Batch
from tests.support.histories import LogHistory, held_on_disk, stamped
from tests.support.judging import broken, excused, held, judged_by, labels

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
LATER_B = stamped(1, 1, "b2")


# --- epochs in answers (KIP101-INV-10)


class TestEpochsInAnswers:
    judge = leader_epochs.metadata_epochs_never_decrease

    def test_metadata_that_goes_back(self) -> None:
        history = LogHistory().metadata(1, 2, 3).metadata(1, 1, 2)
        assert broken(self.judge, history) == ["answers"]

    def test_a_fence_that_goes_back(self) -> None:
        history = (
            LogHistory()
            .settled(1, 3)
            .refused(1, 2, Error.FENCED_LEADER_EPOCH)
            .refused(1, 3, Error.UNKNOWN_LEADER_EPOCH)
        )
        assert broken(self.judge, history) == ["fence"]

    def test_the_fence_of_a_replica_that_was_taken_away(self) -> None:
        def refused(moved: int) -> LogHistory:
            history = LogHistory().settled(1, 3).refused(1, 2, Error.FENCED_LEADER_EPOCH)
            return history.hit("reassignment", moved, partition="topic-0").refused(1, 2, Error.UNKNOWN_LEADER_EPOCH)

        assert (broken(self.judge, refused(1)), excused(self.judge, refused(1))) == ([], [("fence", REASSIGNED)])
        assert broken(self.judge, refused(3)) == ["fence"]

    def test_epochs_that_rise_or_stay(self) -> None:
        history = (
            LogHistory()
            .settled(1, 3)
            .refused(1, 2, Error.FENCED_LEADER_EPOCH)
            .refused(1, 4, Error.UNKNOWN_LEADER_EPOCH)
        )
        assert held(self.judge, history.settled(1, 3)) == ["fence"]
        assert held(self.judge, history.settled(2, 4).refused(1, 3, Error.FENCED_LEADER_EPOCH)) == ["answers"] * 3 + [
            "fence"
        ]
        assert held(self.judge, LogHistory().settled(1, 3).hit("pause", 3).settled(1, 3)) == ["answers"] * 3

    def test_an_epoch_is_unknown_above_the_one_that_was_served(self) -> None:
        history = LogHistory().settled(1, 3).fetch(1, epoch=3, hw=0).refused(1, 4, Error.UNKNOWN_LEADER_EPOCH)
        assert held(self.judge, history) == ["fence"]

    def test_brokers_that_have_not_heard_yet(self) -> None:
        history = LogHistory().settled(1, 3).metadata(1, 2, 4).metadata(2, 1, 3).metadata(3, 2, 4).metadata(2, 2, 4)
        history.refused(1, 3, Error.FENCED_LEADER_EPOCH).refused(2, 4, Error.UNKNOWN_LEADER_EPOCH)
        assert held(self.judge, history) == ["answers"] * 3

    def test_a_restarted_broker_replays_what_it_had_known(self) -> None:
        history = LogHistory().settled(2, 3).refused(1, 2, Error.FENCED_LEADER_EPOCH).restart(1).metadata(1, 1, 2)
        history.refused(1, 3, Error.UNKNOWN_LEADER_EPOCH).metadata(1, 2, 3)
        assert held(self.judge, history) == ["answers"]


# --- one leader per epoch (KIP101-INV-11)


class TestOneLeaderPerEpoch:
    judge = leader_epochs.one_leader_per_epoch

    def test_two_brokers_that_name_two_leaders(self) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 3).metadata(2, 2, 3)) == ["metadata"]

    def test_the_same_after_a_restart(self) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 3).restart(1).metadata(1, 2, 3)) == ["metadata"]

    def test_a_fetch_that_names_another(self) -> None:
        history = LogHistory().settled(1, 3).refused(2, 2, Error.FENCED_LEADER_EPOCH, hint=(2, 3))
        assert broken(self.judge, history) == ["hint"]

    def test_one_leader_for_each(self) -> None:
        history = LogHistory().metadata(1, 1, 3).metadata(2, 1, 3).metadata(1, 2, 4)
        assert held(self.judge, history.refused(1, 3, Error.FENCED_LEADER_EPOCH, hint=(2, 4))) == ["metadata", "hint"]

    def test_a_broker_that_is_fenced_is_not_named(self) -> None:
        """Metadata then says LEADER_NOT_AVAILABLE and names no leader, at the epoch that the broker still leads."""
        history = LogHistory().metadata(1, 2, 3).metadata(1, -1, 3, unfenced=(1, 3)).metadata(1, 2, 3)
        assert held(self.judge, history) == ["metadata"]
        assert held(self.judge, history.refused(1, 2, Error.FENCED_LEADER_EPOCH, hint=(-1, 3))) == ["metadata"]


# --- no future stamps (KIP101-INV-12)


class TestNoFutureStamps:
    judge = leader_epochs.fetches_return_no_later_epochs

    def test_a_record_of_a_later_epoch_than_was_named(self) -> None:
        """The broker had served the later epoch before."""
        history = (
            LogHistory().settled(1, 0).settled(2, 1).fetch(2, A, epoch=1, hw=1).fetch(2, A, LATER_B, epoch=0, hw=2)
        )
        assert broken(self.judge, history) == ["follower"]
        history.fetch(3, A, epoch=1, hw=1).fetch(3, A, LATER_B, epoch=0, hw=2)
        assert broken(self.judge, history) == ["follower", "follower"]
        assert labels(self.judge, history) == {"fence-leak"}

    def test_a_later_record_from_a_broker_that_is_served_at_the_old_epoch_again(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, A, LATER_B, epoch=0, hw=2).fetch(1, A, epoch=0, hw=1)
        assert broken(self.judge, history) == ["leader"]
        assert excused(self.judge, history) == []

    def test_bytes_that_were_replaced_while_they_were_sent(self) -> None:
        """The log was truncated and appended to behind the answer; right afterwards the fence closes (KAFKA-18723)."""
        history = LogHistory().settled(1, 0).fetch(3, A, LATER_B, epoch=0, hw=1).settled(2, 1)
        history.refused(3, 0, Error.FENCED_LEADER_EPOCH).fetch(3, A, LATER_B, epoch=1, hw=2)
        assert held(self.judge, history) == ["follower"]
        assert excused(self.judge, history) == [("follower", TRUNCATED_MEANWHILE)]

    def test_records_up_to_the_epoch_that_was_named(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, A, epoch=0, hw=1).settled(2, 1)
        history.fetch(2, A, LATER_B, epoch=1, hw=2).fetch(3, A, epoch=1, hw=1)
        assert held(self.judge, history) == ["leader", "follower"]

    def test_before_any_change_of_leader_there_is_no_later_epoch(self) -> None:
        history = (
            LogHistory().settled(1, 0).fetch(1, A, epoch=0, hw=1).produce(1, "b", at=1).fetch(1, A, B, epoch=0, hw=2)
        )
        assert held(self.judge, history) == []

    def test_a_fetch_that_names_none_or_brings_nothing(self) -> None:
        history = LogHistory().settled(2, 1).fetch(2, A, LATER_B, epoch=-1, hw=2).fetch(2, epoch=0, hw=0)
        assert held(self.judge, history.refused(2, 0, Error.FENCED_LEADER_EPOCH).fetch_lost(2, 0)) == []


# --- changes of leader (KIP101-EPOCH-02)


class TestChangesOfLeader:
    judge = leader_epochs.every_change_of_leader_raises_the_epoch

    @pytest.mark.parametrize("epoch", [3, 2])
    def test_another_leader_without_another_epoch(self, epoch: int) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 3).metadata(1, 2, epoch)) == ["moved"]

    def test_a_partition_that_lost_its_leader_without_another_epoch(self) -> None:
        history = LogHistory().metadata(1, 1, 3).metadata(1, -1, 3).metadata(1, -1, 3)
        assert broken(self.judge, history) == ["leaderless"]
        assert labels(self.judge, history) == {"epoch-regression"}

    def test_a_leader_that_came_alive_between_two_halves_of_an_answer(self) -> None:
        history = (
            LogHistory().metadata(1, 1, 3).metadata(1, -1, 3, unfenced=(2, 3)).metadata(1, -1, 3).metadata(1, 1, 3)
        )
        assert held(self.judge, history) == []

    def test_epochs_that_rise_with_the_leaders(self) -> None:
        """Two answers in a row show that there is no leader, though the former one is alive."""
        history = LogHistory().metadata(1, 1, 3).metadata(1, 2, 4).metadata(1, 2, 5)
        history.metadata(1, -1, 6).metadata(1, -1, 6).metadata(1, -1, 6).metadata(1, 1, 9)
        assert held(self.judge, history) == ["moved", "leaderless", "leaderless"]

    def test_one_answer_without_a_leader_shows_nothing(self) -> None:
        history = LogHistory().metadata(1, 2, 5).metadata(1, -1, 6).metadata(1, 1, 9)
        assert judged_by(self.judge, history) == []

    def test_a_broker_that_has_not_heard_yet(self) -> None:
        history = LogHistory().settled(1, 3).metadata(1, 2, 4).metadata(2, 1, 3).metadata(2, 2, 4)
        assert held(self.judge, history) == ["moved", "moved"]

    def test_a_fenced_leader_is_not_named_and_that_is_no_change(self) -> None:
        history = LogHistory().metadata(1, 1, 3).metadata(1, -1, 3, unfenced=(2, 3)).metadata(1, 1, 3)
        assert held(self.judge, history) == []

    @pytest.mark.parametrize(("leader", "case"), [(-1, "leaderless"), (2, "moved")])
    def test_a_controller_that_registers_another_leader_at_the_same_epoch(self, leader: int, case: str) -> None:
        assert broken(self.judge, LogHistory().word(1, 3, isr=(1,)).word(leader, 3, isr=(1,))) == [case]

    def test_a_leader_that_is_registered_at_the_epoch_of_a_leaderless_partition(self) -> None:
        history = LogHistory().word(1, 3, isr=(1,)).word(-1, 4, isr=(1,)).word(1, 4, isr=(1,))
        assert broken(self.judge, history) == ["leaderless"]

    def test_registrations_whose_epochs_rise(self) -> None:
        history = LogHistory().word(1, 3, isr=(1,)).word(1, 3, isr=(1,)).word(-1, 4, isr=(1,)).word(1, 5, isr=(1,))
        assert held(self.judge, history) == ["leaderless", "leaderless"]

    def test_a_broker_may_describe_an_older_state_of_a_partition(self) -> None:
        assert judged_by(self.judge, LogHistory().described(2, 1, 3).described(2, -1, 3)) == []

    def test_a_restarted_broker_replays_what_it_had_known(self) -> None:
        history = LogHistory().metadata(1, 2, 4).restart(1).metadata(1, 1, 3).metadata(1, 2, 4)
        assert held(self.judge, history) == ["moved"]


# --- leader epoch caches (KIP101-INV-04)

LOG = (stamped(0, 0, "a", "b"), stamped(2, 2, "c"), stamped(4, 3, "d"))
MAP = ((0, 0), (2, 2), (4, 3))


def stored(*batches: Batch, epochs: tuple[tuple[int, int], ...] | None, start: int = 0, lagging: int = 0) -> LogHistory:
    """At rest: 2 is read from the wire, and from disk, where the log start may lag."""
    history = LogHistory().settled(1, 4).at_rest().whole(2, *batches, epoch=4, hw=4, start=start)
    return history.on_disk(held_on_disk(2, *LOG, epochs=epochs, start=lagging))


class TestEpochMaps:
    judge = leader_epochs.leader_epoch_caches_match_the_log

    @pytest.mark.parametrize(
        ("entries", "case"),
        [
            (((0, 0), (2, 2), (2, 3)), "increasing"),
            (((0, 0), (4, 2), (5, 2)), "increasing"),
            (((0, 0), (4, 3)), "covered"),
            (None, "covered"),
            ((), "covered"),
            (((0, 0), (2, 3), (4, 4)), "bounds"),
            (((0, 0), (2, 2), (4, 4)), "bounds"),
        ],
    )
    def test_a_map_that_does_not_fit_the_log(self, entries: tuple[tuple[int, int], ...] | None, case: str) -> None:
        assert case in broken(self.judge, stored(*LOG, epochs=entries))

    def test_a_map_that_falls_is_an_epoch_regression(self) -> None:
        assert "epoch-regression" in labels(self.judge, stored(*LOG, epochs=((0, 0), (4, 3), (2, 2))))

    def test_maps_that_fit(self) -> None:
        """An (ex-)leader's newest entry may have no record."""
        for fitting in (MAP, (*MAP, (5, 4))):
            assert held(self.judge, stored(*LOG, epochs=fitting)) == ["increasing", "covered", "bounds"]

    def test_an_entry_without_a_record_of_an_epoch_that_another_led(self) -> None:
        history = LogHistory().settled(3, 3).settled(1, 4).at_rest().whole(2, *LOG[:2], epoch=4, hw=3)
        followed = history.on_disk(held_on_disk(2, *LOG[:2], epochs=(*MAP[:2], (3, 3))))
        assert broken(self.judge, followed) == ["bounds"]
        history = LogHistory().settled(2, 3).settled(1, 4).at_rest().whole(2, *LOG[:2], epoch=4, hw=3)
        led = history.on_disk(held_on_disk(2, *LOG[:2], epochs=(*MAP[:2], (3, 3))))
        assert held(self.judge, led) == ["increasing", "covered", "bounds"]

    def test_an_entry_of_a_later_epoch_than_the_broker_names(self) -> None:
        later = stored(*LOG, epochs=(*MAP, (9, 4)))
        assert held(self.judge, later) == ["increasing", "covered", "bounds"]
        assert broken(self.judge, later.metadata(2, 1, 4)) == ["bounds"]
        assert held(self.judge, stored(*LOG, epochs=(*MAP, (9, 4))).metadata(2, 2, 9)) == [
            "increasing",
            "covered",
            "bounds",
        ]

    def test_an_entry_without_a_record_between_others(self) -> None:
        history = LogHistory().settled(1, 4).at_rest().on_disk(held_on_disk(2, LOG[0], LOG[2], epochs=MAP))
        assert held(self.judge, history) == ["increasing", "covered", "bounds"]

    def test_a_trimmed_head(self) -> None:
        """It was moved up to the log start, into a batch; what lies below is still in the segment."""
        history = stored(*LOG, epochs=((0, 1), (2, 2), (4, 3)), start=1, lagging=1)
        assert held(self.judge, history) == ["increasing", "covered", "bounds"]

    def test_a_log_start_on_disk_that_lags(self) -> None:
        history = stored(*LOG[1:], epochs=MAP[1:], start=2, lagging=0)
        assert held(self.judge, history) == ["increasing", "covered", "bounds"]

    def test_a_log_start_that_fell_back_in_a_crash(self) -> None:
        history = LogHistory().settled(1, 4).trim(1, 2).restart(2).at_rest().whole(2, *LOG, epoch=4, hw=4)
        assert held(self.judge, history.on_disk(held_on_disk(2, *LOG, epochs=MAP[1:]))) == [
            "increasing",
            "covered",
            "bounds",
        ]

    @pytest.mark.parametrize("fault", ["remove-epoch-checkpoint", "cut-epoch-checkpoint"])
    def test_a_file_that_the_kit_took(self, fault: str) -> None:
        history = LogHistory().settled(1, 4).hit(fault, 2, partition="topic-0").at_rest().whole(2, *LOG, epoch=4, hw=4)
        assert judged_by(self.judge, history.on_disk(held_on_disk(2, *LOG, epochs=((4, 3),)))) == []

    def test_before_the_rest_a_file_is_behind_its_log(self) -> None:
        history = LogHistory().settled(1, 4).on_disk(held_on_disk(2, *LOG, epochs=((0, 0),)))
        assert judged_by(self.judge, history) == []


# --- a restarted leader (KIP101-EPOCH-04)


class TestRestartedLeader:
    judge = leader_epochs.a_restarted_leader_starts_a_new_epoch

    def test_a_leader_that_leads_on_at_its_epoch(self) -> None:
        history = LogHistory().settled(1, 0).restart(1).fetch(1, epoch=0, hw=0)
        assert broken(self.judge, history) == ["broker"]
        assert labels(self.judge, history) == {"epoch-regression"}

    def test_a_leader_that_leads_at_a_new_one(self) -> None:
        assert held(self.judge, LogHistory().settled(1, 0).restart(1).settled(1, 2).fetch(1, epoch=2, hw=0)) == [
            "broker"
        ]

    def test_one_that_comes_back_as_a_follower(self) -> None:
        history = LogHistory().settled(1, 0).kill(1).settled(2, 1).start(1).fetch(1, epoch=1, hw=0)
        assert held(self.judge, history) == []

    def test_one_that_was_only_frozen(self) -> None:
        history = LogHistory().settled(1, 0).hit("paused-zombie", 1).heal("paused-zombie", 1).fetch(1, epoch=0, hw=0)
        assert held(self.judge, history) == []

    def test_one_whose_disk_refuses_writes_leads_until_it_ends_itself(self) -> None:
        effects = Effects(process="restarts", abrupt=True, fails_writes=True)
        history = LogHistory().settled(1, 0).hit("failed-disk", 1, effects=effects).fetch(1, epoch=0, hw=0)
        assert broken(self.judge, history) == []
        assert broken(self.judge, history.heal("failed-disk", 1).fetch(1, epoch=0, hw=0)) == ["broker"]

    def test_one_that_did_not_lead_when_it_crashed(self) -> None:
        history = LogHistory().settled(1, 0).settled(2, 1).restart(1).settled(1, 2).fetch(1, epoch=2, hw=0)
        assert held(self.judge, history) == []


# --- stale leaders (KIP101-INV-15)


class TestStaleLeaders:
    judge = leader_epochs.former_leaders_commit_nothing

    def zombie(self) -> LogHistory:
        """2 leads at epoch 1 and acts on it; 1 has not heard of it."""
        history = LogHistory().settled(1, 0).whole(1, A, epoch=0, hw=1).hit("cut-off-from-controllers", 1)
        return history.metadata(2, 2, 1).metadata(3, 2, 1).fetch(2, A, epoch=1, hw=1)

    def test_an_acknowledgement_of_all_by_a_stale_leader(self) -> None:
        history = self.zombie().produce(1, "z", at=1).whole(1, A, stamped(0, 1, "z"), epoch=0, hw=1)
        assert broken(self.judge, history) == ["acks-all"]
        assert labels(self.judge, history) == {"fence-leak"}
        assert broken(self.judge, self.zombie().produce(1, "z", at=1)) == ["acks-all"]

    def test_a_watermark_over_what_it_appended(self) -> None:
        tail = stamped(0, 1, "t")
        assert broken(self.judge, self.zombie().produce(1, "t", at=1, acks=1).whole(1, A, tail, epoch=0, hw=2)) == [
            "watermark"
        ]
        assert broken(self.judge, self.zombie().whole(1, A, epoch=0, hw=1).fetch(1, A, tail, epoch=0, hw=2)) == [
            "watermark"
        ]

    @pytest.mark.parametrize("error", [Error.NOT_ENOUGH_REPLICAS, Error.REQUEST_TIMED_OUT])
    def test_it_cannot(self, error: Error) -> None:
        history = self.zombie().produce(1, "t", at=1, acks=1).produce(1, "z", error=error)
        assert held(self.judge, history.whole(1, A, stamped(0, 1, "t"), epoch=0, hw=1)) == ["acks-all", "watermark"]

    def test_before_the_new_leader_acts_a_last_fetch_may_commit(self) -> None:
        """Another broker tells of the new epoch before the new leader stops to fetch at the old one."""
        history = LogHistory().settled(1, 0).metadata(3, 2, 1).produce(1, "a", at=0).fetch(2, A, epoch=1, hw=1)
        assert held(self.judge, history) == []

    def test_what_it_had_before_may_be_committed_by_a_fetch_that_was_on_its_way(self) -> None:
        """A frozen leader wakes, and reads the fetch of a follower that leads by now."""
        history = LogHistory().settled(1, 0).produce(1, "a", at=0, acks=1).hit("paused-zombie", 1).metadata(2, 2, 1)
        history.fetch(2, A, epoch=1, hw=0).heal("paused-zombie", 1).fetch(1, epoch=0, hw=0).fetch(1, A, epoch=0, hw=1)
        assert held(self.judge, history) == []

    def test_alone_in_its_isr_it_commits_what_an_unclean_election_passed_over(self) -> None:
        history = LogHistory().settled(1, 0, isr=(1,)).elect_uncleanly(2).metadata(2, 2, 1).fetch(2, epoch=1, hw=0)
        history.produce(1, "z", at=0).whole(1, stamped(0, 0, "z"), epoch=0, hw=1)
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("acks-all", ELECTED_UNCLEANLY_ON_REQUEST)]

    def test_alone_in_its_isr_it_raises_its_high_watermark_after_an_unclean_election(self) -> None:
        history = LogHistory().settled(1, 0, isr=(1,)).elect_uncleanly(2).metadata(2, 2, 1).fetch(2, epoch=1, hw=0)
        history.produce(1, "z", at=0, acks=1).whole(1, stamped(0, 0, "z"), epoch=0, hw=1)
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("watermark", ELECTED_UNCLEANLY_ON_REQUEST)]

    def test_alone_in_its_isr_it_commits_while_nobody_leads(self) -> None:
        history = LogHistory().settled(1, 0, isr=(1,)).metadata(2, -1, 1, isr=(1,)).produce(1, "z", at=0)
        assert held(self.judge, history.whole(1, stamped(0, 0, "z"), epoch=0, hw=1)) == []

    def test_it_leads_again(self) -> None:
        history = self.zombie().settled(1, 2).produce(1, "z", at=1).whole(1, A, stamped(2, 1, "z"), epoch=2, hw=2)
        assert held(self.judge, history) == []
        assert held(self.judge, self.zombie().produce(1, "z", at=1).settled(1, 2)) == []


# --- fences (KIP320-FETCH-01, FETCH-02, OFLE-06, LO-05)


class TestFences:
    def passed(self) -> LogHistory:
        """1 is known to be past epoch 0."""
        return LogHistory().settled(1, 0).settled(2, 1).fetch(1, A, epoch=1, hw=1)

    def test_an_older_epoch_is_served(self) -> None:
        history = self.passed().fetch(1, A, epoch=0, hw=1).epoch_end(1, 0, (0, 1), 0).latest(1, 1, epoch=0)
        for judge, case in (
            (leader_epochs.fetches_at_an_older_epoch_are_fenced, "consumer"),
            (leader_epochs.offset_for_leader_epoch_is_fenced, "older"),
            (leader_epochs.list_offsets_is_fenced, "older"),
        ):
            assert broken(judge, history) == [case]
            assert labels(judge, history) == {"fence-leak"}

    def test_an_older_epoch_is_refused(self) -> None:
        history = self.passed().refused(1, 0, Error.FENCED_LEADER_EPOCH)
        history.epoch_end(1, 0, (-1, -1), 0, error=Error.FENCED_LEADER_EPOCH)
        assert held(leader_epochs.fetches_at_an_older_epoch_are_fenced, history) == ["consumer"]
        assert held(leader_epochs.offset_for_leader_epoch_is_fenced, history) == ["older"]

    def test_a_zombie_has_not_passed_its_epoch(self) -> None:
        history = LogHistory().settled(1, 0).metadata(2, 2, 1).fetch(2, A, epoch=1, hw=1).fetch(1, A, epoch=0, hw=1)
        assert held(leader_epochs.fetches_at_an_older_epoch_are_fenced, history) == []

    def test_a_restarted_broker_starts_over(self) -> None:
        history = self.passed().restart(1).fetch(1, A, epoch=0, hw=1)
        assert broken(leader_epochs.fetches_at_an_older_epoch_are_fenced, history) == []

    def test_an_epoch_of_its_own_is_unknown_to_it(self) -> None:
        history = self.passed().refused(1, 1, Error.UNKNOWN_LEADER_EPOCH)
        assert broken(leader_epochs.fetches_at_the_current_epoch_are_served, history) == ["follower"]
        assert labels(leader_epochs.fetches_at_the_current_epoch_are_served, history) == {"false-fence"}

    def test_an_epoch_of_its_own_is_fenced(self) -> None:
        """Once only: afterwards it serves it, or names no later one."""
        history = LogHistory().settled(1, 1).refused(1, 1, Error.FENCED_LEADER_EPOCH)
        assert broken(leader_epochs.fetches_at_the_current_epoch_are_served, history) == []
        assert broken(leader_epochs.fetches_at_the_current_epoch_are_served, history.fetch(1, A, epoch=1, hw=1)) == [
            "consumer"
        ]
        history = (
            LogHistory().settled(1, 1).epoch_end(1, 0, (-1, -1), 1, error=Error.FENCED_LEADER_EPOCH).metadata(1, 1, 1)
        )
        assert broken(leader_epochs.offset_for_leader_epoch_is_fenced, history) == ["equal"]
        history = LogHistory().settled(1, 1).latest(1, -1, Error.FENCED_LEADER_EPOCH, epoch=1).metadata(1, 1, 1)
        assert broken(leader_epochs.list_offsets_is_fenced, history) == ["served"]

    def test_a_fence_that_closes_before_anybody_names_the_next_epoch(self) -> None:
        history = LogHistory().settled(1, 1).refused(1, 1, Error.FENCED_LEADER_EPOCH).metadata(2, 1, 1).settled(1, 3)
        assert held(leader_epochs.fetches_at_the_current_epoch_are_served, history) == []

    def test_a_broker_that_has_not_heard_yet(self) -> None:
        history = LogHistory().settled(1, 0).metadata(1, 2, 1).refused(1, 1, Error.UNKNOWN_LEADER_EPOCH)
        assert held(leader_epochs.fetches_at_the_current_epoch_are_served, history.fetch(1, epoch=1, hw=0)) == []

    def test_a_replica_that_was_taken_away_and_given_back_learns_its_epoch_again(self) -> None:
        history = self.passed().hit("reassignment", 1, partition="topic-0").refused(1, 1, Error.UNKNOWN_LEADER_EPOCH)
        assert held(leader_epochs.fetches_at_the_current_epoch_are_served, history) == []
        assert excused(leader_epochs.fetches_at_the_current_epoch_are_served, history) == [("follower", REASSIGNED)]
        other = self.passed().hit("reassignment", 3, partition="topic-0").refused(1, 1, Error.UNKNOWN_LEADER_EPOCH)
        assert broken(leader_epochs.fetches_at_the_current_epoch_are_served, other) == ["follower"]

    def test_at_rest_the_epoch_is_served(self) -> None:
        history = LogHistory().settled(1, 1).at_rest().fetch(1, A, epoch=1, hw=1).fetch(2, A, epoch=1, hw=1)
        history.epoch_end(1, 1, (1, 1), 1).latest(1, 1, epoch=1)
        assert held(leader_epochs.fetches_at_the_current_epoch_are_served, history) == ["consumer", "follower"]
        assert held(leader_epochs.offset_for_leader_epoch_is_fenced, history) == ["equal"]
        assert held(leader_epochs.list_offsets_is_fenced, history) == ["served"]


class TestNewerEpochs:
    judge = leader_epochs.fetches_at_an_unknown_epoch_are_refused

    def test_an_epoch_that_never_was_is_served(self) -> None:
        history = LogHistory().settled(1, 0).fetch(1, A, epoch=1, hw=1).settled(1, 0).at_rest()
        assert broken(self.judge, history) == ["consumer"]
        assert labels(self.judge, history) == {"fence-leak"}

    def test_it_is_refused(self) -> None:
        history = LogHistory().settled(1, 0).refused(2, 1, Error.UNKNOWN_LEADER_EPOCH).settled(1, 0).at_rest()
        assert held(self.judge, history) == ["follower"]

    def test_an_epoch_that_was_heard_of_later_may_have_been_there(self) -> None:
        history = LogHistory().settled(1, 0).fetch(2, A, epoch=1, hw=1).settled(2, 1).at_rest()
        assert broken(self.judge, history) == []

    def test_without_rest_nobody_knows_what_the_newest_was(self) -> None:
        assert broken(self.judge, LogHistory().settled(1, 0).fetch(1, A, epoch=1, hw=1)) == []
