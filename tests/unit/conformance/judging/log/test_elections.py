"""Elections: bad histories of GEN-08 and GEN-09, each next to a legal one that comes close."""

from __future__ import annotations

import msgspec
import pytest

from conformance.judging.excuses import (
    ELECTED_UNCLEANLY_BY_CONFIG,
    ELECTED_UNCLEANLY_ON_REQUEST,
    ELECTION_DISTURBED,
    LAST_KNOWN_LEADER,
    LOOKED_TOO_RARELY,
)
from conformance.judging.log import elections
from history.effects import Effects
from protocol.codes import Error
from tests.support.histories import LogHistory
from tests.support.judging import broken, excused, held, judged_by

LEADS = elections.an_electable_replica_becomes_leader
NO_OTHER = elections.only_electable_replicas_lead


class TestReplicaThatMayLead:
    def leaderless(self, isr: tuple[int, ...] = (1,), unfenced: tuple[int, ...] = (1, 2)) -> LogHistory:
        return LogHistory().settled(1, 0).metadata(2, -1, 1, isr=isr, unfenced=unfenced)

    def again(
        self,
        history: LogHistory,
        seconds: float = 40,
        isr: tuple[int, ...] = (1,),
        unfenced: tuple[int, ...] = (1, 2),
    ) -> LogHistory:
        return history.later(seconds).metadata(2, -1, 1, isr=isr, unfenced=unfenced)

    def test_no_leader_for_too_long(self) -> None:
        assert broken(LEADS, self.again(self.leaderless())) == ["clean"]

    def test_a_leader_that_comes_too_late(self) -> None:
        history = self.again(self.leaderless()).later(1).metadata(2, 1, 2, isr=(1,))
        assert broken(LEADS, history) == ["clean"]

    def test_a_leader_that_was_elected_between_two_looks(self) -> None:
        history = self.leaderless().later(40).metadata(2, 1, 2, isr=(1,))
        assert [one.result for one in judged_by(LEADS, history)] == []

    def test_a_host_that_slept_while_there_was_no_leader(self) -> None:
        history = self.leaderless().later(5).asleep(60).metadata(2, -1, 1, isr=(1,), unfenced=(1, 2))
        assert (broken(LEADS, history), excused(LEADS, history)) == ([], [("clean", LOOKED_TOO_RARELY)])
        history.later(1).metadata(2, 1, 2, isr=(1,))
        assert (broken(LEADS, history), excused(LEADS, history)) == ([], [("clean", LOOKED_TOO_RARELY)])

    def test_a_host_that_slept_before_there_was_no_leader_for_too_long(self) -> None:
        slept = self.leaderless().asleep(60).metadata(2, -1, 1, isr=(1,), unfenced=(1, 2))
        assert broken(LEADS, self.again(slept)) == ["clean"]

    def test_stretches_without_events_that_are_short_for_the_bound(self) -> None:
        history = self.leaderless()
        for _ in range(6):
            history.asleep(7).metadata(2, -1, 1, isr=(1,), unfenced=(1, 2))
        assert broken(LEADS, history) == ["clean"]

    def test_a_wait_that_recorded_how_late_the_kit_woke(self) -> None:
        late, on_time = (self.again(self.leaderless().later(20).in_vain(late)) for late in (9.0, 8.0))
        assert (broken(LEADS, late), broken(LEADS, on_time)) == (["clean"], ["clean"])
        late, on_time = (self.again(self.leaderless().later(20).in_vain(late), 20) for late in (9.0, 8.0))
        assert (broken(LEADS, late), excused(LEADS, late)) == ([], [("clean", LOOKED_TOO_RARELY)])
        assert broken(LEADS, on_time) == ["clean"]

    def test_a_leader_that_comes_in_time(self) -> None:
        assert held(LEADS, self.leaderless().later(20).metadata(2, 1, 2, isr=(1,))) == ["clean"]

    def test_the_only_member_is_fenced(self) -> None:
        history = self.again(self.leaderless(unfenced=(2, 3)), unfenced=(2, 3))
        assert held(LEADS, history) == []

    def test_a_leader_that_is_down_and_never_replaced(self) -> None:
        history = LogHistory().settled(1, 0).kill(1).metadata(2, 1, 0).later(40).metadata(2, 1, 0)
        assert broken(LEADS, history) == ["clean"]
        history = LogHistory().settled(1, 0).kill(1).metadata(2, 1, 0).later(2).metadata(2, 2, 1, isr=(2, 3))
        assert held(LEADS, history) == ["clean"]

    def test_a_fault_that_keeps_it_from_the_controllers(self) -> None:
        history = self.again(self.leaderless().hit("cut-off-from-controllers", 1).metadata(2, -1, 1, isr=(1,)))
        assert held(LEADS, history) == []

    @pytest.mark.parametrize(
        ("fault", "brokers", "touched"),
        [("rate-limit", (3,), ()), ("roll-by-size", (1,), ()), ("halves", (3,), ("broker-3",)), ("freeze", (3,), ())],
    )
    def test_a_fault_that_does_not_concern_it(
        self, fault: str, brokers: tuple[int, ...], touched: tuple[str, ...]
    ) -> None:
        hit = self.leaderless().hit(fault, *brokers, touched=touched)
        assert broken(LEADS, self.again(hit)) == ["clean"]
        assert excused(LEADS, hit) == []

    @pytest.mark.parametrize(
        ("fault", "brokers", "touched"),
        [("rate-limit", (1,), ()), ("halves", (3,), ("broker-1",)), ("rate-limit", (2,), ())],
        ids=["on it", "on a link of it", "on the broker that describes it"],
    )
    def test_a_fault_that_concerns_it(self, fault: str, brokers: tuple[int, ...], touched: tuple[str, ...]) -> None:
        history = self.again(self.again(self.leaderless().hit(fault, *brokers, touched=touched)))
        assert (broken(LEADS, history), excused(LEADS, history)) == ([], [("clean", ELECTION_DISTURBED)])

    def test_a_fault_on_a_controller(self) -> None:
        history = self.leaderless()
        members = [*history.example.members, {"name": "controller-101", "id": 101, "role": "controller"}]
        history.example = msgspec.structs.replace(history.example, members=members)
        history._fault("rate-limit", "inject")
        history.events[-1] = msgspec.structs.replace(history.events[-1], node="controller-101")
        assert excused(LEADS, self.again(history)) == [("clean", ELECTION_DISTURBED)]

    def test_the_only_member_came_back_with_an_empty_disk(self) -> None:
        def lost(fault: str, isr: tuple[int, ...] = (1,)) -> LogHistory:
            history = LogHistory().settled(1, 0).hit(fault, 1).heal(fault, 1)
            return self.again(history.metadata(2, -1, 1, isr=isr, unfenced=(1, 2)), isr=isr)

        assert broken(LEADS, lost("wipe-disk")) == ["disk-replaced"]
        assert broken(LEADS, lost("wipe-disk", isr=(1, 2))) == ["clean"]
        assert broken(LEADS, lost("remove-replica")) == ["clean"]

    def test_an_eligible_replica(self) -> None:
        history = self.leaderless(isr=()).described(2, -1, 1, eligible=(1,))
        assert broken(LEADS, self.again(history, isr=())) == ["eligible"]
        history = self.leaderless(isr=()).described(2, -1, 1, eligible=(1,)).metadata(2, 1, 2, isr=(1,))
        assert held(LEADS, history) == ["eligible"]

    def test_an_eligible_replica_that_crashed_since(self) -> None:
        history = self.leaderless(isr=()).described(2, -1, 1, eligible=(1,)).kill(1).start(1)
        again = self.again(history.metadata(2, -1, 1, isr=()), isr=())
        assert judged_by(LEADS, again) == []

    def test_an_empty_isr_and_unknown_eligible_replicas(self) -> None:
        assert held(LEADS, self.again(self.leaderless(isr=()), isr=())) == []


class TestReplicaInAFailedDirectory:
    """1 leads, and its log directory has failed."""

    FAILED = Effects(process="restarts-when-healed", abrupt=True, fails_writes=True)

    def failed(self, partition: str = "topic-0", broker: int = 1) -> LogHistory:
        return LogHistory().settled(1, 0).hit("failed-directory", broker, effects=self.FAILED, partition=partition)

    def leads_on(self, history: LogHistory, epoch: int = 0) -> LogHistory:
        return history.metadata(2, 1, epoch).later(40).metadata(2, 1, epoch)

    def test_it_leads_on(self) -> None:
        assert broken(LEADS, self.leads_on(self.failed())) == ["clean"]

    def test_another_is_elected_in_time(self) -> None:
        assert held(LEADS, self.failed().metadata(2, 1, 0).later(5).metadata(2, 2, 1, isr=(2, 3))) == ["clean"]

    def test_nobody_else_is_in_sync(self) -> None:
        history = self.failed().metadata(2, -1, 1, isr=(1,)).later(40).metadata(2, -1, 1, isr=(1,))
        assert judged_by(LEADS, history) == []

    def test_another_partition_was_hit(self) -> None:
        assert judged_by(LEADS, self.leads_on(self.failed("other-0"))) == []

    def test_it_was_healed(self) -> None:
        assert judged_by(LEADS, self.leads_on(self.failed().healing("failed-directory"))) == []

    def test_it_was_removed_and_added_again(self) -> None:
        """It is not known where that replica is."""
        moved = self.failed().metadata(2, 2, 1, isr=(2, 3), replicas=(2, 3)).metadata(2, 1, 2)
        assert judged_by(LEADS, self.leads_on(moved, epoch=2)) == []

    def test_another_fault_keeps_the_controllers_from_electing(self) -> None:
        assert judged_by(LEADS, self.leads_on(self.failed().hit("cut-off-from-controllers", 2))) == []

    def test_a_leader_is_down_while_the_directory_of_another_broker_has_failed(self) -> None:
        history = self.failed(broker=3).kill(1).metadata(2, 1, 0).later(40).metadata(2, 1, 0)
        assert broken(LEADS, history) == ["clean"]
        history = self.failed("other-0", broker=2).kill(1).metadata(2, 1, 0).later(40).metadata(2, 1, 0)
        assert judged_by(LEADS, history) == []


UNCLEAN = "unclean.leader.election.enable"


class TestReplicaThatTheConfigurationPermits:
    """1 was the ISR and is fenced; 2 and 3 are alive."""

    def created(self, **configs: str) -> LogHistory:
        return LogHistory().created(**configs).settled(1, 0, isr=(1,)).kill(1)

    def leaderless(self, history: LogHistory, unfenced: tuple[int, ...] = (2, 3)) -> LogHistory:
        return history.metadata(2, -1, 1, isr=(1,), unfenced=unfenced)

    def stuck(self, history: LogHistory, seconds: float = 40, unfenced: tuple[int, ...] = (2, 3)) -> LogHistory:
        """A further 15 s are too short to be a wait of their own."""
        return self.leaderless(self.leaderless(history, unfenced).later(seconds), unfenced)

    def led(self, history: LogHistory, seconds: float) -> LogHistory:
        looked = self.leaderless(self.leaderless(history).later(seconds))
        return looked.metadata(2, 2, 2, isr=(2,), unfenced=(2, 3))

    def test_by_the_topic(self) -> None:
        created = self.created(unclean_leader_election_enable="true")
        assert broken(LEADS, self.stuck(created)) == ["topic"]
        assert broken(LEADS, self.led(self.created(unclean_leader_election_enable="true"), 40)) == ["topic"]
        assert held(LEADS, self.led(self.created(unclean_leader_election_enable="true"), 20)) == ["topic"]

    def test_by_the_cluster_default(self) -> None:
        assert broken(LEADS, self.stuck(self.created().altered(UNCLEAN, "true", of=""))) == ["cluster-default"]
        assert held(LEADS, self.led(self.created().altered(UNCLEAN, "true", of=""), 20)) == ["cluster-default"]

    def test_switched_on_while_there_is_no_leader(self) -> None:
        """The controller looks for such partitions every five minutes."""
        switched_on = self.leaderless(self.created()).altered(UNCLEAN, "true")
        assert broken(LEADS, self.stuck(switched_on, 340)) == ["switched-on"]
        switched_on = self.leaderless(self.created()).altered(UNCLEAN, "true")
        assert held(LEADS, self.led(switched_on, 320)) == ["switched-on"]

    def test_switched_on_while_a_replica_of_the_isr_is_alive(self) -> None:
        """That replica is elected at once."""
        history = LogHistory().created().settled(1, 0).metadata(2, -1, 1, isr=(2,)).altered(UNCLEAN, "true")
        history.metadata(2, -1, 1, isr=(2,)).later(40).metadata(2, -1, 1, isr=(2,))
        assert broken(LEADS, history) == ["clean"]

    def test_nothing_permits_it(self) -> None:
        off = self.created(unclean_leader_election_enable="true").altered(UNCLEAN, "false")
        explicitly = self.created(unclean_leader_election_enable="false").altered(UNCLEAN, "true", of="")
        refused = self.created().altered(UNCLEAN, "true", error=Error.INVALID_CONFIG)
        lost = self.created().altered(UNCLEAN, "true", lost=True)
        another = self.created().altered(UNCLEAN, "true", of="topic-2")
        for history in (self.created(), off, explicitly, refused, lost, another):
            assert "stuck" not in {one.label for one in judged_by(LEADS, self.stuck(history, 400))}

    def test_no_replica_is_alive(self) -> None:
        created = self.created(unclean_leader_election_enable="true")
        assert held(LEADS, self.stuck(created, unfenced=())) == []


class TestNoOtherReplica:
    def leaderless(self, isr: tuple[int, ...]) -> LogHistory:
        """1 was killed; 2, which was not in sync, is alive."""
        history = LogHistory().settled(1, 0, isr=(1,)).kill(1)
        return history.metadata(2, -1, 1, isr=isr, unfenced=(2, 3))

    @pytest.mark.parametrize("column", ["3.5.2", "3.9.2"])
    def test_a_replica_out_of_the_isr(self, column: str) -> None:
        assert broken(NO_OTHER, self.leaderless((1,)).column(column).settled(2, 2, isr=(2,))) == ["silent"]

    def test_a_replica_that_is_not_eligible(self) -> None:
        history = self.leaderless(()).described(2, -1, 1, eligible=(1,)).settled(2, 2, isr=(2,))
        assert broken(NO_OTHER, history) == ["silent"]
        history = self.leaderless(()).word(-1, 1, isr=(), eligible=(1,)).settled(2, 2, isr=(2,))
        assert broken(NO_OTHER, history) == ["silent"]

    def test_a_replica_out_of_the_isr_where_the_topic_forbids_it(self) -> None:
        """Whatever the cluster default is."""
        for default in ("false", "true"):
            history = LogHistory().created(unclean_leader_election_enable="false").altered(UNCLEAN, default, of="")
            history.settled(1, 0, isr=(1,)).kill(1).metadata(2, -1, 1, isr=(1,), unfenced=(2, 3))
            assert broken(NO_OTHER, history.settled(2, 2, isr=(2,))) == ["explicitly-off"]

    def test_a_replica_of_the_isr_where_the_topic_forbids_others(self) -> None:
        history = LogHistory().created(unclean_leader_election_enable="false").settled(1, 0, isr=(1,)).kill(1)
        history.metadata(2, -1, 1, isr=(1,), unfenced=(2, 3)).start(1)
        assert held(NO_OTHER, history.settled(1, 2, isr=(1,))) == ["explicitly-off"]

    def test_the_topic_forbade_it_until_it_was_altered(self) -> None:
        history = LogHistory().created(unclean_leader_election_enable="false").settled(1, 0, isr=(1,)).kill(1)
        history.metadata(2, -1, 1, isr=(1,), unfenced=(2, 3)).altered(UNCLEAN, "true").settled(2, 2, isr=(2,))
        assert held(NO_OTHER, history) == []
        assert excused(NO_OTHER, history) == [("explicitly-off", ELECTED_UNCLEANLY_BY_CONFIG)]

    def lost(self, broker: int) -> LogHistory:
        history = LogHistory().settled(1, 0, isr=(1,)).kill(1).hit("wipe-disk", broker)
        return history.metadata(2, -1, 1, isr=(1,), unfenced=(2, 3))

    def test_a_replica_other_than_the_last_in_sync_one_which_lost_its_disk(self) -> None:
        assert broken(NO_OTHER, self.lost(1).settled(2, 2, isr=(2,))) == ["disk-lost"]

    def test_the_last_in_sync_replica_without_its_disk(self) -> None:
        assert held(NO_OTHER, self.lost(1).start(1).settled(1, 2, isr=(1,))) == ["disk-lost"]
        assert judged_by(NO_OTHER, self.lost(1)) == []

    def test_a_replica_out_of_the_isr_lost_its_disk(self) -> None:
        assert broken(NO_OTHER, self.lost(3).settled(2, 2, isr=(2,))) == ["silent"]

    def test_a_replica_of_isr_or_elr(self) -> None:
        assert held(NO_OTHER, self.leaderless((1,)).start(1).settled(1, 2, isr=(1,))) == ["silent"]
        history = self.leaderless(()).described(2, -1, 1, eligible=(1, 2)).settled(2, 2, isr=(2,))
        assert held(NO_OTHER, history) == ["silent"]

    def test_a_partition_that_never_gets_a_leader_shows_nothing(self) -> None:
        assert judged_by(NO_OTHER, self.leaderless((1,))) == []

    def test_an_administrator_permits_it(self) -> None:
        history = self.leaderless((1,)).elect_uncleanly(2).settled(2, 2, isr=(2,))
        assert held(NO_OTHER, history) == []
        assert excused(NO_OTHER, history) == [("silent", ELECTED_UNCLEANLY_ON_REQUEST)]

    def test_an_administrator_was_refused(self) -> None:
        history = self.leaderless((1,)).elect_uncleanly(2, Error.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        assert broken(NO_OTHER, history.settled(2, 2, isr=(2,))) == ["silent"]

    def test_the_last_known_leader(self) -> None:
        history = self.leaderless(()).start(1).described(2, -1, 1, last_known=(1,))
        assert held(NO_OTHER, history.settled(1, 2, isr=(1,))) == ["last-known"]

    def test_a_replica_other_than_the_last_known_leader(self) -> None:
        history = self.leaderless(()).start(1).described(2, -1, 1, last_known=(1,))
        assert broken(NO_OTHER, history.settled(2, 2, isr=(2,))) == ["last-known"]

    def test_an_empty_isr_and_unknown_eligible_replicas(self) -> None:
        assert judged_by(NO_OTHER, self.leaderless(()).settled(2, 2, isr=(2,))) == []

    def test_epochs_that_were_not_seen(self) -> None:
        """2 may have joined the ISR in between."""
        assert judged_by(NO_OTHER, self.leaderless((1,)).settled(2, 4, isr=(2,))) == []


WIPED = Effects(process="down", disk=("log-dir",), every_partition=True)
STOPPED = Effects(process="down")


class TestLastKnownLeaderAfterTheEligibleReplica:
    """2 is eligible and 1 was the last leader; both came down by a controlled shutdown, and 1 comes back with an empty disk."""

    def leaderless(self, effects: Effects) -> LogHistory:
        history = LogHistory().settled(1, 0).hit("first", 2, effects=effects).settled(1, 0, isr=(1,))
        history.hit("second", 1, effects=WIPED).metadata(3, -1, 1, isr=(), unfenced=(3,))
        return history.described(3, -1, 1, eligible=(2,), last_known=(1,))

    def test_the_eligible_one_lost_the_mark_of_its_clean_shutdown(self) -> None:
        history = self.leaderless(WIPED).heal("second", 1).heal("first", 2).settled(1, 2, isr=(1,))
        assert held(NO_OTHER, history) == broken(NO_OTHER, history) == []
        assert excused(NO_OTHER, history) == [("disk-lost", LAST_KNOWN_LEADER)]

    def test_the_election_is_seen_before_the_fault_is_healed(self) -> None:
        """The broker registers, and the controller elects, while the kit still waits for the disk."""
        history = self.leaderless(WIPED).heal("second", 1).healing("first").settled(1, 2, isr=(1,)).healed("first", 2)
        assert excused(NO_OTHER, history) == [("disk-lost", LAST_KNOWN_LEADER)]

    def test_the_eligible_one_was_started_as_it_was_stopped(self) -> None:
        history = self.leaderless(STOPPED).heal("second", 1).heal("first", 2).settled(1, 2, isr=(1,))
        assert broken(NO_OTHER, history) == ["silent"]

    def test_the_eligible_one_was_not_started(self) -> None:
        assert broken(NO_OTHER, self.leaderless(WIPED).heal("second", 1).settled(1, 2, isr=(1,))) == ["disk-lost"]

    def test_the_eligible_one_was_started_before_it_was_described(self) -> None:
        history = self.leaderless(WIPED).heal("first", 2).described(3, -1, 1, eligible=(2,), last_known=(1,))
        assert broken(NO_OTHER, history.heal("second", 1).settled(1, 2, isr=(1,))) == ["disk-lost"]

    def test_the_eligible_one_restarted_before_it_was_described(self) -> None:
        """The fault that restarted it is healed only afterwards."""
        history = self.leaderless(Effects(process="restarts", abrupt=True)).heal("second", 1).heal("first", 2)
        assert broken(NO_OTHER, history.settled(1, 2, isr=(1,))) == ["silent"]

    def test_a_replica_other_than_the_last_known_leader(self) -> None:
        history = self.leaderless(WIPED).heal("second", 1).heal("first", 2).settled(3, 2, isr=(3,))
        assert broken(NO_OTHER, history) == ["disk-lost"]
