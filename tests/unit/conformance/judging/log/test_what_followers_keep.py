"""A follower that truncates keeps the records that its leaders have (KIP101-TRUNC-01)."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import ELECTED_UNCLEANLY_ON_REQUEST
from conformance.judging.log import truncation
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused, held, labels

BOTH = stamped(0, 0, "a", "b")
TAIL = stamped(0, 2, "t")


class TestWhatFollowersKeep:
    judge = truncation.truncation_keeps_the_common_prefix

    def follower(self, *after: object) -> LogHistory:
        """3 has everything that 1 has; then 2 leads, which has everything as well."""
        history = LogHistory().settled(1, 0).whole(1, BOTH, TAIL, epoch=0, hw=2).whole(3, BOTH, TAIL, epoch=0, hw=2)
        return history.settled(2, 1).whole(2, BOTH, TAIL, epoch=1, hw=2).whole(3, *after, epoch=1, hw=2)  # type: ignore[arg-type]

    def test_a_suffix_truncated_to_the_high_watermark_though_the_leader_has_it(self) -> None:
        assert broken(self.judge, self.follower(BOTH)) == ["epoch-change"]
        assert labels(self.judge, self.follower(BOTH)) == {""}

    def test_a_truncation_below_the_high_watermark(self) -> None:
        assert labels(self.judge, self.follower()) == {"phantom-truncation"}

    def test_a_truncation_below_the_high_watermark_across_a_restart(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, BOTH, epoch=0, hw=2).whole(3, BOTH, epoch=0, hw=2).restart(3)
        assert broken(self.judge, history.whole(3, epoch=0, hw=0)) == ["restart"]

    def test_all_is_kept(self) -> None:
        assert held(self.judge, self.follower(BOTH, TAIL)) == ["epoch-change"]
        history = LogHistory().settled(1, 0).whole(1, BOTH, epoch=0, hw=2).whole(3, BOTH, epoch=0, hw=1).restart(3)
        assert held(self.judge, history.whole(3, BOTH, epoch=0, hw=0)) == ["restart"]

    def test_a_suffix_that_the_next_leader_never_had(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, BOTH, TAIL, epoch=0, hw=2).whole(3, BOTH, TAIL, epoch=0, hw=2)
        history.settled(2, 1).whole(2, BOTH, epoch=1, hw=2).whole(3, BOTH, epoch=1, hw=2)
        assert held(self.judge, history) == ["epoch-change"]

    def test_a_suffix_that_came_and_went_with_the_leaders(self) -> None:
        """It is truncated under a leader without it; its own leader is elected again before it is fetched again."""
        history = LogHistory().settled(1, 0).whole(1, BOTH, TAIL, epoch=0, hw=2).whole(3, BOTH, TAIL, epoch=0, hw=2)
        history.settled(2, 1).elect_uncleanly(2).settled(1, 2).whole(1, BOTH, TAIL, epoch=2, hw=2)
        assert held(self.judge, history.whole(3, BOTH, epoch=2, hw=2)) == []

    def test_an_unclean_election_takes_what_was_committed(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, BOTH, TAIL, epoch=0, hw=3).whole(3, BOTH, TAIL, epoch=0, hw=3)
        history.elect_uncleanly(2).settled(2, 1).whole(2, BOTH, epoch=1, hw=2).whole(3, BOTH, epoch=1, hw=2)
        assert held(self.judge, history) == ["epoch-change"]
        assert excused(self.judge, history) == [("epoch-change", ELECTED_UNCLEANLY_ON_REQUEST)]

    @pytest.mark.parametrize("fault", ["cut-tail-above", "remove-epoch-checkpoint", "wipe-disk", "reassignment"])
    def test_a_replica_that_lost_its_disk_or_was_copied_again(self, fault: str) -> None:
        history = LogHistory().settled(1, 0).whole(1, BOTH, TAIL, epoch=0, hw=3).whole(3, BOTH, TAIL, epoch=0, hw=3)
        history.hit(fault, 3, partition="topic-0").settled(2, 1).whole(2, BOTH, TAIL, epoch=1, hw=3)
        assert held(self.judge, history.whole(3, epoch=1, hw=0)) == []

    def test_a_broker_that_was_no_replica_for_a_while(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, BOTH, epoch=0, hw=2).whole(3, BOTH, epoch=0, hw=2)
        history.settled(1, 1, replicas=(1, 2), isr=(1, 2)).settled(1, 1).whole(3, epoch=1, hw=0)
        assert held(self.judge, history) == []

    def test_what_the_log_start_passed(self) -> None:
        history = LogHistory().settled(1, 0).whole(1, BOTH, TAIL, epoch=0, hw=3).whole(3, BOTH, TAIL, epoch=0, hw=3)
        history.trim(1, 2).settled(2, 1).whole(2, TAIL, epoch=1, hw=3, start=2)
        assert held(self.judge, history.whole(3, TAIL, epoch=1, hw=3, start=2)) == ["epoch-change"]

    def test_the_uncommitted_suffix_of_a_zombie(self) -> None:
        history = (
            LogHistory().settled(1, 0).hit("cut-off-from-controllers", 1).metadata(2, 2, 1).fetch(2, epoch=1, hw=0)
        )
        history.produce(1, "t", at=0, acks=1).whole(1, stamped(0, 0, "t"), epoch=0, hw=0).whole(2, epoch=1, hw=0)
        assert held(self.judge, history.settled(2, 1).whole(1, epoch=1, hw=0)) == []

    def test_a_zombie_truncates_what_it_committed_alone_after_an_unclean_election(self) -> None:
        history = LogHistory().settled(1, 0).elect_uncleanly(2).metadata(2, 2, 1).fetch(2, epoch=1, hw=0)
        history.whole(1, stamped(0, 0, "z"), epoch=0, hw=1).settled(2, 1)
        assert held(self.judge, history.whole(1, epoch=1, hw=0)) == []


class TestWhatReplicasInSyncHold:
    """`t` is acknowledged at epoch 0; 2 leads at epoch 1, with 3 in its ISR, which was never read before."""

    judge = truncation.truncation_keeps_the_common_prefix

    def acknowledged(self, isr: tuple[int, ...] = (2, 3), acks: int = -1) -> LogHistory:
        history = LogHistory().settled(1, 0).produce(1, "a", "b", at=0).produce(1, "t", at=2, acks=acks)
        return history.settled(2, 1, isr=isr).whole(2, BOTH, TAIL, epoch=1, hw=2)

    def test_a_record_that_was_acknowledged_before_it_was_in_sync(self) -> None:
        history = self.acknowledged().whole(3, BOTH, epoch=1, hw=2)
        assert broken(self.judge, history) == ["epoch-change"]
        assert labels(self.judge, history) == {"phantom-truncation"}

    def test_nothing_is_excused_by_leaving_the_isr_afterwards(self) -> None:
        assert broken(self.judge, self.acknowledged().settled(2, 1, isr=(2,)).whole(3, BOTH, epoch=1, hw=2)) == [
            "epoch-change"
        ]

    def test_it_has_all(self) -> None:
        assert broken(self.judge, self.acknowledged().whole(3, BOTH, TAIL, epoch=1, hw=2)) == []

    def test_it_never_was_in_the_isr_of_a_later_epoch(self) -> None:
        """The leader may have acknowledged the record once this replica had left."""
        assert broken(self.judge, self.acknowledged(isr=(2,)).whole(3, BOTH, epoch=1, hw=2)) == []

    def test_it_joined_the_isr_after_it_was_read(self) -> None:
        history = self.acknowledged(isr=(2,)).whole(3, BOTH, epoch=1, hw=2)
        assert broken(self.judge, history.settled(2, 1, isr=(2, 3))) == []

    def test_a_record_of_the_epoch_itself(self) -> None:
        history = LogHistory().settled(2, 1).produce(2, "t", at=0).whole(2, stamped(1, 0, "t"), epoch=1, hw=1)
        assert broken(self.judge, history.whole(3, epoch=1, hw=0)) == []

    def test_a_record_that_only_its_leader_acknowledged(self) -> None:
        assert broken(self.judge, self.acknowledged(acks=1).whole(3, BOTH, epoch=1, hw=2)) == []

    def test_what_the_log_start_passed(self) -> None:
        history = self.acknowledged().trim(2, 3).whole(3, epoch=1, hw=3, start=3)
        assert broken(self.judge, history) == []

    def test_an_unclean_election(self) -> None:
        history = (
            LogHistory()
            .settled(1, 0)
            .produce(1, "a", "b", at=0)
            .produce(1, "t", at=2)
            .whole(1, BOTH, TAIL, epoch=0, hw=3)
        )
        history.elect_uncleanly(2).settled(2, 1, isr=(2, 3)).whole(2, BOTH, epoch=1, hw=2).whole(3, BOTH, epoch=1, hw=2)
        assert broken(self.judge, history) == []
        assert excused(self.judge, history) == [("epoch-change", ELECTED_UNCLEANLY_ON_REQUEST)]

    @pytest.mark.parametrize("fault", ["cut-tail-above", "remove-epoch-checkpoint", "wipe-disk", "reassignment"])
    def test_a_replica_that_lost_its_disk_or_was_copied_again(self, fault: str) -> None:
        history = LogHistory().settled(1, 0).produce(1, "a", "b", at=0).produce(1, "t", at=2)
        history.hit(fault, 3, partition="topic-0").settled(2, 1).whole(2, BOTH, TAIL, epoch=1, hw=3)
        assert broken(self.judge, history.whole(3, BOTH, epoch=1, hw=2)) == []
