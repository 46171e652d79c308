"""The judges of leader epochs: each catches what it is there for, and is silent on an honest history."""

from __future__ import annotations

import pytest

from conformance.judges import epochs
from fixtures.wire import Error
from tests.histories import LogHistory, stamped
from tests.judging import broken, held, labels

A, B, C = stamped(0, 0, "a"), stamped(0, 1, "b"), stamped(0, 2, "c")
LATER_B = stamped(1, 1, "b2")


# --- epochs in answers (KIP101-INV-10)


class TestEpochsInAnswers:
    judge = epochs.epochs_never_fall

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
    judge = epochs.one_leader_per_epoch

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
        told = LogHistory().metadata(1, 2, 3).metadata(1, -1, 3, unfenced=(1, 3)).metadata(1, 2, 3)
        assert held(self.judge, told) == ["metadata"]
        assert held(self.judge, told.refused(1, 2, Error.FENCED_LEADER_EPOCH, hint=(-1, 3))) == ["metadata"]


# --- no future stamps (KIP101-INV-12)


class TestNoFutureStamps:
    judge = epochs.no_future_stamps

    def test_a_record_of_a_later_epoch_than_was_named(self) -> None:
        """The broker had served the later epoch before."""
        told = LogHistory().settled(1, 0).settled(2, 1).fetch(2, A, epoch=1, hw=1).fetch(2, A, LATER_B, epoch=0, hw=2)
        assert broken(self.judge, told) == ["follower"]
        told.fetch(3, A, epoch=1, hw=1).fetch(3, A, LATER_B, epoch=0, hw=2)
        assert broken(self.judge, told) == ["follower", "follower"]
        assert labels(self.judge, told) == {"fence-leak"}

    def test_a_later_record_from_a_broker_that_is_served_at_the_old_epoch_again(self) -> None:
        told = LogHistory().settled(1, 0).fetch(1, A, LATER_B, epoch=0, hw=2).fetch(1, A, epoch=0, hw=1)
        assert broken(self.judge, told) == ["leader"]

    def test_bytes_that_were_replaced_while_they_were_sent(self) -> None:
        """The log was truncated and appended to behind the answer; right afterwards the fence closes (KAFKA-18723)."""
        told = LogHistory().settled(1, 0).fetch(3, A, LATER_B, epoch=0, hw=1).settled(2, 1)
        told.refused(3, 0, Error.FENCED_LEADER_EPOCH).fetch(3, A, LATER_B, epoch=1, hw=2)
        assert held(self.judge, told) == ["follower"]

    def test_records_up_to_the_epoch_that_was_named(self) -> None:
        told = LogHistory().settled(2, 1).fetch(2, A, LATER_B, epoch=1, hw=2).fetch(3, A, epoch=1, hw=1)
        assert held(self.judge, told) == ["leader", "follower"]

    def test_a_fetch_that_names_none_or_brings_nothing(self) -> None:
        told = LogHistory().settled(2, 1).fetch(2, A, LATER_B, epoch=-1, hw=2).fetch(2, epoch=0, hw=0)
        assert held(self.judge, told.refused(2, 0, Error.FENCED_LEADER_EPOCH).fetch_lost(2, 0)) == []


# --- changes of leader (KIP101-EPOCH-02)


class TestChangesOfLeader:
    judge = epochs.every_leadership_change_raises_the_epoch

    @pytest.mark.parametrize("epoch", [3, 2])
    def test_another_leader_without_another_epoch(self, epoch: int) -> None:
        assert broken(self.judge, LogHistory().metadata(1, 1, 3).metadata(1, 2, epoch)) == ["moved"]

    def test_a_partition_that_lost_its_leader_without_another_epoch(self) -> None:
        told = LogHistory().metadata(1, 1, 3).metadata(1, -1, 3).metadata(1, -1, 3)
        assert broken(self.judge, told) == ["leaderless"]
        assert labels(self.judge, told) == {"epoch-regression"}

    def test_a_leader_that_came_alive_between_two_halves_of_an_answer(self) -> None:
        told = LogHistory().metadata(1, 1, 3).metadata(1, -1, 3, unfenced=(2, 3)).metadata(1, -1, 3).metadata(1, 1, 3)
        assert held(self.judge, told) == []

    def test_epochs_that_rise_with_the_leaders(self) -> None:
        told = LogHistory().metadata(1, 1, 3).metadata(1, 2, 4).metadata(1, 2, 5).metadata(1, -1, 6).metadata(1, 1, 9)
        assert held(self.judge, told) == ["moved", "leaderless", "leaderless"]

    def test_a_broker_that_has_not_heard_yet(self) -> None:
        told = LogHistory().settled(1, 3).metadata(1, 2, 4).metadata(2, 1, 3).metadata(2, 2, 4)
        assert held(self.judge, told) == ["moved", "moved"]

    def test_a_fenced_leader_is_not_named_and_that_is_no_change(self) -> None:
        told = LogHistory().metadata(1, 1, 3).metadata(1, -1, 3, unfenced=(2, 3)).metadata(1, 1, 3)
        assert held(self.judge, told) == []

    def test_a_restarted_broker_replays_what_it_had_known(self) -> None:
        told = LogHistory().metadata(1, 2, 4).restart(1).metadata(1, 1, 3).metadata(1, 2, 4)
        assert held(self.judge, told) == ["moved"]
