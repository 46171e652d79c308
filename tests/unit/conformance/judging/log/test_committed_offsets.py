"""The judges of committed offsets: each catches what it is there for, and is silent on an honest history."""

from __future__ import annotations

from typing import Any, Self
from uuid import UUID

import pytest

from conformance.judging.excuses import OFFSETS_LOST, STALE_COORDINATOR, UNSTABLE_OFFSETS
from conformance.judging.log import committed_offsets
from history.effects import Effects
from protocol.codes import Error
from protocol.groups import CommittedOffset, OffsetFetchAnswer
from tests.support.histories import TOPIC, LogHistory
from tests.support.judging import broken, excused, held

ID, ANOTHER = UUID(int=1), UUID(int=2)
DAMAGE = {
    "wipe-disk": Effects(process="restarts", abrupt=True, disk=("log-dir",), every_partition=True),
    "lose-epochs": Effects(process="restarts", disk=("epoch-checkpoint",), every_partition=True),
}


class TestCommitted:
    judge = committed_offsets.committed_offsets_keep_their_epoch

    def test_the_last_commit_is_shown(self) -> None:
        history = LogHistory().commit(1, 3, 0).committed(1, 3, 0).commit(1, 5, 1).committed(1, 5, 1)
        assert held(self.judge, history) == ["committed", "committed"]

    @pytest.mark.parametrize("shown", [(3, 0), (5, 0), (5, -1), (-1, -1)], ids=["old", "epoch", "no epoch", "none"])
    def test_something_else_is_shown(self, shown: tuple[int, int]) -> None:
        history = LogHistory().commit(1, 3, 0).commit(1, 5, 1).committed(1, *shown)
        assert broken(self.judge, history) == ["committed"]

    def test_a_commit_of_which_nobody_knows(self) -> None:
        for shown in ((3, 0), (5, 1)):
            history = LogHistory().commit(1, 3, 0).commit(1, 5, 1, lost=True).committed(1, *shown)
            assert held(self.judge, history) == ["committed"]
            history = LogHistory().commit(1, 3, 0).commit(1, 5, 1, error=Error.COORDINATOR_NOT_AVAILABLE)
            assert held(self.judge, history.committed(1, *shown)) == ["committed"]
        history = LogHistory().commit(1, 5, 1, lost=True).commit(1, 3, 0).committed(1, 5, 1)
        assert held(self.judge, history) == ["committed"]

    def test_a_commit_that_was_refused(self) -> None:
        history = LogHistory().commit(1, 3, 0).commit(1, 5, 1, error=Error.ILLEGAL_GENERATION)
        assert broken(self.judge, history.committed(1, 5, 1)) == ["committed"]

    def test_a_new_coordinator_that_is_not_asked_for_stable_offsets(self) -> None:
        """Until it has loaded the group, it shows what it had when its watermark was behind."""
        for seconds in (0, 59):
            history = LogHistory().commit(1, 3, 0).kill(1).start(1).later(seconds).committed(2, -1, -1, stable=False)
            assert held(self.judge, history) == []
            assert excused(self.judge, history) == [("committed", UNSTABLE_OFFSETS)]
        history = LogHistory().commit(1, 3, 0).kill(1).start(1).later(61).committed(2, -1, -1, stable=False)
        assert broken(self.judge, history) == ["committed"]
        history = LogHistory().commit(1, 3, 0).kill(1).later(61).committed(2, -1, -1, stable=False)
        assert excused(self.judge, history) == [("committed", UNSTABLE_OFFSETS)]
        history = LogHistory().commit(1, 3, 0).committed(1, -1, -1, stable=False)
        assert broken(self.judge, history) == ["committed"]

    def test_a_transaction_may_show_its_offsets_at_any_time(self) -> None:
        for shown in ((3, 0), (5, 1)):
            history = LogHistory().commit(1, 3, 0)
            history.in_transaction(1, 5, 1).committed(1, *shown)
            assert held(self.judge, history) == ["committed"]

    def test_another_group_and_nothing_committed(self) -> None:
        history = LogHistory().commit(1, 3, 0).committed(1, -1, -1, group="other")
        assert held(self.judge, history) == []

    def test_a_stale_coordinator_answers_from_what_it_had(self) -> None:
        history = LogHistory().commit(1, 3, 0).hit("cut-off-from-controllers", 1).commit(2, 5, 0).committed(1, 3, 0)
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("committed", STALE_COORDINATOR)]
        history.heal("cut-off-from-controllers", 1)
        assert held(self.judge, history.committed(2, 5, 0)) == ["committed"]

    @pytest.mark.parametrize(("shown", "cases"), [((5, 0), ["committed"]), ((3, 1), ["committed"]), ((-1, -1), [])])
    def test_a_stale_coordinator_makes_up_no_offset(self, shown: tuple[int, int], cases: list[str]) -> None:
        history = LogHistory().commit(1, 3, 0).hit("cut-off-from-controllers", 1).committed(1, *shown)
        assert broken(self.judge, history) == cases

    @pytest.mark.parametrize("fault", ["isolate", "cut-off-from-controllers", "one-link", "pause"])
    def test_a_fault_of_another_broker_is_no_excuse(self, fault: str) -> None:
        history = LogHistory().commit(1, 3, 0).hit(fault, 3).commit(1, 5, 1)
        assert broken(self.judge, history.committed(1, 3, 0)) == ["committed"]
        assert excused(self.judge, history) == []

    def test_a_controller_that_runs_behind_a_broken_link(self) -> None:
        controller = 100
        history = LogHistory().commit(1, 3, 0).hit("one-link", controller).commit(2, 5, 1).committed(1, 3, 0)
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("committed", STALE_COORDINATOR)]
        down = LogHistory().commit(1, 3, 0).hit("kill", controller).commit(2, 5, 1).committed(1, 3, 0)
        assert broken(self.judge, down) == ["committed"]

    def test_a_disk_that_was_lost_and_an_unclean_election_of_its_partition(self) -> None:
        history = LogHistory().commit(1, 3, 0).hit("wipe-disk", 1).heal("wipe-disk", 1).committed(1, -1, -1)
        assert held(self.judge, history) == []
        assert excused(self.judge, history) == [("committed", OFFSETS_LOST)]
        history = LogHistory().commit(1, 3, 0).hit("unclean-election", 1, partition="__consumer_offsets-0")
        assert held(self.judge, history.heal("unclean-election", 1).committed(1, -1, -1)) == []
        assert excused(self.judge, history) == [("committed", OFFSETS_LOST)]
        assert broken(self.judge, history.committed(1, 4, 0)) == ["committed"]

    @pytest.mark.parametrize(("fault", "broker"), [("wipe-disk", 3), ("lose-epochs", 3), ("lose-epochs", 2)], ids=str)
    def test_damage_to_a_broker_that_neither_took_the_commit_nor_answers(self, fault: str, broker: int) -> None:
        """A commit is on all that are in sync; without its leader epochs, it is the next coordinator that truncates too much."""
        history = LogHistory().commit(2, 3, 0).hit(fault, broker, effects=DAMAGE[fault]).heal(fault, broker)
        assert broken(self.judge, history.committed(1, -1, -1)) == ["committed"]
        assert excused(self.judge, history) == []

    def test_the_next_coordinator_lost_its_leader_epochs(self) -> None:
        effects = DAMAGE["lose-epochs"]
        history = LogHistory().commit(2, 3, 0).hit("lose-epochs", 1, effects=effects).heal("lose-epochs", 1)
        assert excused(self.judge, history.committed(1, -1, -1)) == [("committed", OFFSETS_LOST)]

    def test_damage_to_the_disk_of_a_coordinator_does_not_make_it_stale(self) -> None:
        history = LogHistory().commit(1, 3, 0).commit(1, 5, 1)
        history.hit("flip-bytes", 1, effects=Effects(disk=("index",)), partition="topic-0")
        assert broken(self.judge, history.committed(1, 3, 0)) == ["committed"]

    def test_an_unclean_election_of_another_partition(self) -> None:
        history = LogHistory().commit(1, 3, 0).hit("unclean-election", 1, partition="topic-0", own_topic=False)
        assert broken(self.judge, history.heal("unclean-election", 1).committed(1, -1, -1)) == ["committed"]


class TestCoordinators:
    judge = committed_offsets.committed_offsets_survive_their_coordinator

    def test_one_that_was_killed_and_one_that_took_over(self) -> None:
        history = LogHistory().commit(1, 3, 1).restart(1).committed(1, 3, 1).committed(2, 3, 1)
        assert held(self.judge, history) == ["restart", "move"]

    def test_an_epoch_that_is_lost_on_the_way(self) -> None:
        history = LogHistory().commit(1, 3, 1).restart(1).committed(1, 3, -1).committed(2, 3, -1)
        assert broken(self.judge, history) == ["restart", "move"]

    def test_the_same_life_of_it_is_no_instance(self) -> None:
        assert held(self.judge, LogHistory().commit(1, 3, 1).committed(1, 3, 1)) == []

    def test_a_commit_by_a_client(self) -> None:
        """The group's coordinator is known from the broker that answered for it."""
        history = LogHistory().committed(1, -1, -1).client_commit("member-1", 3, 1)
        assert held(self.judge, history.kill(1).committed(2, 3, 1)) == ["move"]
        unknown = LogHistory().client_commit("member-1", 3, 1).kill(1).committed(2, 3, 1)
        assert held(self.judge, unknown) == []


class AllPartitions(LogHistory):
    """A history with OffsetFetch requests of all partitions of a group."""

    def all_committed(self, broker: int, *shown: CommittedOffset, group: str = "g", **answer: Any) -> Self:
        call = self._asked(broker, "offset_fetch", group, require_stable=True)
        return self._answered(call, OffsetFetchAnswer(**{"version": 8, "partitions": shown, **answer}))


class TestAllPartitions:
    """An OffsetFetch of all partitions shows each with a commit, or has no offset of it."""

    judge = committed_offsets.committed_offsets_keep_their_epoch

    @staticmethod
    def with_topic() -> AllPartitions:
        return AllPartitions().created_as(ID).metadata(1, 1, 0)

    def test_it_lacks_one(self) -> None:
        history = self.with_topic().commit(1, 3, 0)
        assert broken(self.judge, history.all_committed(1)) == ["committed"]
        other = CommittedOffset(version=8, topic="other", partition=0, offset=3, leader_epoch=0)
        assert broken(self.judge, history.all_committed(1, other)) == ["committed", "committed"]

    @pytest.mark.parametrize("named", [{"topic": TOPIC.name}, {"topic_id": ID}], ids=["name", "id"])
    def test_it_shows_it(self, named: dict[str, Any]) -> None:
        history = self.with_topic().commit(1, 3, 0)
        shown = CommittedOffset(version=8, **named, partition=0, offset=3, leader_epoch=0)
        assert held(self.judge, history.all_committed(1, shown)) == ["committed"]
        wrong = CommittedOffset(version=8, **named, partition=0, offset=2, leader_epoch=0)
        assert broken(self.judge, history.all_committed(1, wrong)) == ["committed"]

    def test_nothing_is_committed_in_the_group(self) -> None:
        refused = self.with_topic().commit(1, 3, 0, error=Error.ILLEGAL_GENERATION)
        other = self.with_topic().commit(1, 3, 0, group="other")
        for history in (self.with_topic(), refused, other):
            assert held(self.judge, history.all_committed(1)) == []

    def test_the_group_or_its_offset_is_not_ready(self) -> None:
        unstable = CommittedOffset(version=8, topic=TOPIC.name, partition=0, error=Error.UNSTABLE_OFFSET_COMMIT)
        assert held(self.judge, self.with_topic().commit(1, 3, 0).all_committed(1, unstable)) == []
        refused = self.with_topic().commit(1, 3, 0).all_committed(1, error=Error.NOT_COORDINATOR)
        assert held(self.judge, refused) == []

    def test_the_topic_is_deleted(self) -> None:
        for lost in (False, True):
            history = self.with_topic().commit(1, 3, 0).deleted(id=ID, lost=lost)
            assert held(self.judge, history.all_committed(1)) == []
            assert held(self.judge, history.created_as(ANOTHER).metadata(1, 1, 0).all_committed(1)) == []

    def test_a_broker_still_shows_the_deleted_topic(self) -> None:
        history = self.with_topic().commit(1, 3, 0).deleted(id=ID).metadata(2, 1, 0, id=ID)
        assert held(self.judge, history.all_committed(1)) == []

    def test_the_deletion_of_the_topic_was_refused(self) -> None:
        history = self.with_topic().commit(1, 3, 0).deleted(id=ID, error=Error.TOPIC_DELETION_DISABLED)
        assert broken(self.judge, history.metadata(1, 1, 0).all_committed(1)) == ["committed"]

    def test_a_topic_whose_id_was_never_shown(self) -> None:
        unknown = CommittedOffset(version=10, topic_id=ANOTHER, partition=0, offset=3, leader_epoch=0)
        assert held(self.judge, self.with_topic().commit(1, 3, 0).all_committed(1, unknown, version=10)) == []

    def test_a_commit_in_a_transaction_may_wait_for_its_end(self) -> None:
        history = self.with_topic()
        history.in_transaction(1, 5, 1)
        assert held(self.judge, history.all_committed(1)) == []
