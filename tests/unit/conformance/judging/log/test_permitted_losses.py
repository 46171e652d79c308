"""Permitted losses, each next to a similar history in which the cluster declared no such thing."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import (
    DISK_LOST_BY_FAULT,
    ELECTED_UNCLEANLY_BY_CONFIG,
    ELECTED_UNCLEANLY_BY_FAULT,
    ELECTED_UNCLEANLY_ON_REQUEST,
    LAST_KNOWN_LEADER,
    Evidence,
)
from conformance.judging.log import leader_epochs, records
from conformance.judging.log.permitted_losses import PermittedLosses
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.judging import broken, excused, held, partition_story

A, B = stamped(0, 0, "a"), stamped(0, 1, "b")
AFTER_A = stamped(2, 1, "x")
KEPT = records.acknowledged_records_are_kept
ONE_COMMIT = records.one_acknowledged_record_per_offset
STABLE = records.consumed_records_are_never_replaced


def permissions(history: LogHistory) -> list[Evidence]:
    return [loss.by for loss in PermittedLosses(partition_story(history)).all]


def acknowledged(min_insync_replicas: str = "2", column: str = "4.3.1") -> LogHistory:
    """`a` and `b` are acknowledged with acks=all at epoch 0."""
    history = LogHistory().column(column).created(min_insync_replicas=min_insync_replicas)
    return history.settled(1, 0).produce(1, "a", "b", at=0)


# --- leaders from outside ISR and ELR


class TestLeaderless:
    """A time without a leader permits nothing."""

    @pytest.mark.parametrize(("column", "isr"), [("3.5.2", (1,)), ("3.9.2", (1,)), ("4.3.1", (1,)), ("4.3.1", ())])
    @pytest.mark.parametrize("leaderless", [True, False])
    def test_a_follower_that_was_out_of_the_isr_leads(
        self, column: str, isr: tuple[int, ...], leaderless: bool
    ) -> None:
        history = LogHistory().column(column).created(min_insync_replicas="1").settled(1, 0).produce(1, "a", at=0)
        history.kill(2).kill(3).metadata(1, 1, 0, isr=(1,)).produce(1, "b", at=1).kill(1).start(2)
        if leaderless:
            history.metadata(2, -1, 1, isr=isr).metadata(2, -1, 1, isr=isr)
        history.metadata(2, 2, 2, isr=(2,)).produce(2, "x", at=1).whole(2, A, AFTER_A, epoch=2, hw=2)
        assert broken(KEPT, history) == ["kept"]
        assert broken(ONE_COMMIT, history) == ["acknowledged"]

    @pytest.mark.parametrize("isr", [(), (1,)])
    @pytest.mark.parametrize("leaderless", [True, False])
    def test_no_broker_crashed_and_a_replica_other_than_the_last_leader_leads(
        self, isr: tuple[int, ...], leaderless: bool
    ) -> None:
        history = acknowledged().settled(1, 0, isr=(1, 2)).settled(1, 0, isr=(1,))
        if leaderless:
            history.settled(-1, 1, isr=isr)
        assert broken(KEPT, history.settled(2, 2, isr=(2,)).whole(2, A, epoch=2, hw=1)) == ["kept"]

    @pytest.mark.parametrize(("column", "isr"), [("4.3.1", ()), ("3.9.2", (1,))])
    def test_the_only_replica_lost_records_across_a_clean_stop(self, column: str, isr: tuple[int, ...]) -> None:
        history = LogHistory().column(column).created(min_insync_replicas="1").settled(1, 0, isr=(1,), replicas=(1,))
        history.produce(1, "a", "b", at=0).hit("stop", 1).metadata(2, -1, 1, isr=isr, replicas=(1,))
        history.heal("stop", 1).settled(1, 2, isr=(1,), replicas=(1,)).whole(1, A, epoch=2, hw=1)
        assert broken(KEPT, history) == ["kept"]


class TestLastKnownLeader:
    def returned(self, *, cut: int | None = 1, epoch: int = 2, **described: tuple[int, ...]) -> LogHistory:
        """1 led last, was killed and its log cut, and leads again after a time without a leader and without an ISR."""
        history = acknowledged().kill(1)
        if cut is not None:
            history.cut(1, end=cut)
        history.metadata(2, -1, 1, isr=())
        if described:
            history.described(2, -1, 1, **described)
        return history.start(1).settled(1, epoch, isr=(1,)).whole(1, A, epoch=epoch, hw=1)

    def test_it_did_not_shut_down_cleanly_and_lost_records(self) -> None:
        for history in (self.returned(), self.returned(last_known=(1,))):
            assert LAST_KNOWN_LEADER in permissions(history)
            assert excused(KEPT, history) == [("kept", LAST_KNOWN_LEADER)]
        assert broken(KEPT, self.returned(eligible=(1,))) == []

    @pytest.mark.parametrize("cut", [None, 2], ids=["nothing", "above"])
    def test_a_kill_alone_loses_nothing_that_is_in_the_page_cache(self, cut: int | None) -> None:
        """The cut left what was acknowledged."""
        history = self.returned(cut=cut)
        assert LAST_KNOWN_LEADER in permissions(history)
        assert broken(KEPT, history) == ["kept"]

    def test_another_may_have_led_meanwhile(self) -> None:
        assert excused(KEPT, self.returned(cut=None, epoch=4)) == [("kept", LAST_KNOWN_LEADER)]

    def test_the_cut_log_of_another(self) -> None:
        history = acknowledged().kill(1).cut(2, end=1).metadata(3, -1, 1, isr=()).start(1).settled(1, 2, isr=(1,))
        assert broken(KEPT, history.whole(1, A, epoch=2, hw=1)) == ["kept"]

    def test_another_was_eligible(self) -> None:
        assert broken(KEPT, self.returned(eligible=(2,))) == ["kept"]

    def test_the_isr_kept_a_member(self) -> None:
        """The description comes from a cluster without eligible leader replicas."""
        history = acknowledged("1").kill(1).metadata(2, -1, 1, isr=(1,)).start(1).settled(1, 2, isr=(1,))
        assert broken(KEPT, history.whole(1, A, epoch=2, hw=1)) == ["kept"]

    def test_a_replica_other_than_the_last_leader(self) -> None:
        history = acknowledged("1").kill(1).kill(2).metadata(3, -1, 1, isr=()).start(2).settled(2, 2, isr=(2,))
        assert broken(KEPT, history.whole(2, A, epoch=2, hw=1)) == ["kept"]


# --- requested elections


class TestRequestedElections:
    def elected(self, history: LogHistory) -> LogHistory:
        return history.settled(2, 1).whole(2, A, epoch=1, hw=1)

    def test_an_election_that_was_granted_or_has_an_unknown_outcome(self) -> None:
        granted, lost = acknowledged().elect_uncleanly(3), acknowledged().elect_uncleanly(3, lost=True)
        for history in (granted, lost, acknowledged().elect_uncleanly(3, Error.REQUEST_TIMED_OUT)):
            assert held(KEPT, self.elected(history)) == []
            assert permissions(history) == [ELECTED_UNCLEANLY_ON_REQUEST]
            assert excused(KEPT, history) == [("kept", ELECTED_UNCLEANLY_ON_REQUEST)]

    @pytest.mark.parametrize("error", [Error.ELECTION_NOT_NEEDED, Error.ELIGIBLE_LEADERS_NOT_AVAILABLE])
    def test_an_election_that_was_refused(self, error: Error) -> None:
        assert broken(KEPT, self.elected(acknowledged().elect_uncleanly(3, error))) == ["kept"]

    def test_the_election_after_it(self) -> None:
        history = acknowledged().elect_uncleanly(3).settled(2, 1).produce(2, "p", at=2).settled(3, 2)
        both = (A, B, stamped(1, 2, "p"))
        history = history.whole(2, *both, epoch=1, hw=3).whole(3, A, epoch=2, hw=1)
        assert broken(KEPT, history) == ["kept", "kept"]

    def test_an_election_of_the_same_leader_loses_nothing(self) -> None:
        history = acknowledged().elect_uncleanly(3).settled(1, 1).whole(1, A, epoch=1, hw=1)
        assert broken(KEPT, history) == ["kept"]

    def test_one_that_elected_the_same_leader_permits_no_later_change(self) -> None:
        for again, expected in ((1, ["kept"]), (3, [])):  # at 2, another may have led that no answer describes
            history = acknowledged().elect_uncleanly(3).settled(1, again).settled(2, 4).whole(2, A, epoch=4, hw=1)
            assert broken(KEPT, history) == expected

    def test_the_same_leader_may_be_named_by_a_broker_that_lags(self) -> None:
        history = acknowledged().hit("cut-off-from-controllers", 3).elect_uncleanly(3).metadata(3, 1, 1)
        assert broken(KEPT, history.settled(2, 3).whole(2, A, epoch=3, hw=1)) == []

    @pytest.mark.parametrize(("isr", "expected"), [((1,), []), ((1, 2), ["kept"])])
    def test_one_that_elected_a_member_of_the_isr_lost_nothing(self, isr: tuple[int, ...], expected: list[str]) -> None:
        history = acknowledged().settled(-1, 1, isr=isr).elect_uncleanly(3).settled(2, 2, isr=(2,))
        assert broken(KEPT, history.whole(2, A, epoch=2, hw=1)) == expected

    def test_a_member_that_started_uncleanly_leaves_the_isr(self) -> None:
        history = acknowledged().kill(2).settled(-1, 1, isr=(2,)).elect_uncleanly(3).start(2).settled(2, 2, isr=(2,))
        assert broken(KEPT, history.whole(2, A, epoch=2, hw=1)) == []

    def test_one_of_unknown_outcome_permits_no_later_clean_election(self) -> None:
        """2, which is in the ISR as described after the request, leads at a later epoch without `b`."""
        history = acknowledged().settled(-1, 1, isr=(1,)).elect_uncleanly(3, lost=True).settled(1, 2, isr=(1,))
        history.settled(1, 2, isr=(1, 2)).settled(2, 3, isr=(2,)).whole(2, A, epoch=3, hw=1)
        assert broken(KEPT, history) == ["kept"]

    def test_a_replica_out_of_the_isr_where_the_topic_allows_it(self) -> None:
        for allowed, isr, expected in (("true", (1,), []), ("false", (1,), ["kept"]), ("true", (1, 2), ["kept"])):
            history = (
                LogHistory().created(unclean_leader_election_enable=allowed).settled(1, 0).produce(1, "a", "b", at=0)
            )
            history.settled(1, 0, isr=isr).settled(2, 1).whole(2, A, epoch=1, hw=1)
            assert broken(KEPT, history) == expected


UNCLEAN = "unclean.leader.election.enable"


class TestConfiguredElections:
    """2, which was outside the ISR, leads after 1: permitted by the configuration in force at the election."""

    def created(self, **configs: str) -> LogHistory:
        history = LogHistory().created(min_insync_replicas="1", **configs)
        return history.settled(1, 0).produce(1, "a", "b", at=0).settled(1, 0, isr=(1,))

    def elected(self, history: LogHistory) -> LogHistory:
        return history.metadata(2, -1, 1, isr=(1,)).settled(2, 2, isr=(2,)).whole(2, A, epoch=2, hw=1)

    @pytest.mark.parametrize(("of", "lost"), [("topic", False), ("topic", True), ("", False), ("", True)])
    def test_it_was_switched_on(self, of: str, lost: bool) -> None:
        history = self.elected(self.created().altered(UNCLEAN, "true", of=of, lost=lost))
        assert held(KEPT, history) == []
        assert permissions(history) == [ELECTED_UNCLEANLY_BY_CONFIG]
        assert excused(KEPT, history) == [("kept", ELECTED_UNCLEANLY_BY_CONFIG)]

    def test_it_was_switched_on_while_there_was_no_leader(self) -> None:
        history = self.created().metadata(2, -1, 1, isr=(1,)).altered(UNCLEAN, "true")
        assert held(KEPT, self.elected(history)) == []

    def test_it_was_switched_on_after_the_election(self) -> None:
        history = self.elected(self.created()).altered(UNCLEAN, "true")
        assert broken(KEPT, history.whole(2, A, epoch=2, hw=1)) == ["kept"]

    @pytest.mark.parametrize("value", ["false", None])
    def test_it_was_switched_off_before_the_election(self, value: str | None) -> None:
        history = self.created(unclean_leader_election_enable="true").altered(UNCLEAN, value)
        assert broken(KEPT, self.elected(history)) == ["kept"]

    def test_it_may_have_been_switched_off_before_the_election(self) -> None:
        history = self.created(unclean_leader_election_enable="true").altered(UNCLEAN, "false", lost=True)
        assert held(KEPT, self.elected(history)) == []

    @pytest.mark.parametrize("of", ["topic", ""])
    def test_the_alteration_was_refused(self, of: str) -> None:
        history = self.created().altered(UNCLEAN, "true", of=of, error=Error.INVALID_CONFIG)
        assert broken(KEPT, self.elected(history)) == ["kept"]

    def test_another_topic(self) -> None:
        assert broken(KEPT, self.elected(self.created().altered(UNCLEAN, "true", of="topic-2"))) == ["kept"]

    def test_another_setting(self) -> None:
        assert broken(KEPT, self.elected(self.created().altered("min.insync.replicas", "true"))) == ["kept"]

    def test_the_topic_forbids_what_the_cluster_default_permits(self) -> None:
        history = self.created(unclean_leader_election_enable="false").altered(UNCLEAN, "true", of="")
        assert broken(KEPT, self.elected(history)) == ["kept"]

    def test_the_cluster_default_was_taken_back(self) -> None:
        history = self.created().altered(UNCLEAN, "true", of="").altered(UNCLEAN, None, of="")
        assert broken(KEPT, self.elected(history)) == ["kept"]

    @pytest.mark.parametrize("source", [1, 3, 4])
    def test_a_broker_described_it(self, source: int) -> None:
        history = LogHistory().settled(1, 0).produce(1, "a", "b", at=0).settled(1, 0, isr=(1,))
        history.configured(UNCLEAN, "true", source)
        assert held(KEPT, self.elected(history)) == []
        assert permissions(history) == [ELECTED_UNCLEANLY_BY_CONFIG]

    def test_a_broker_described_the_former_value(self) -> None:
        history = self.created(unclean_leader_election_enable="true").altered(UNCLEAN, "false")
        assert broken(KEPT, self.elected(history.configured(UNCLEAN, "true", 1))) == ["kept"]


class TestConfiguredElectionsOfFormerlyEligibleReplicas:
    """2 was eligible as described, is elected, and has lost a record: with eligible leader replicas an unclean shutdown takes a
    replica out of ISR and ELR when it registers, and then it is outside."""

    def created(self, unclean: str = "true") -> LogHistory:
        history = LogHistory().created(min_insync_replicas="2", unclean_leader_election_enable=unclean)
        return history.settled(1, 0).produce(1, "a", "b", at=0)

    def leaderless(self, history: LogHistory, eligible: tuple[int, ...] = (1, 2)) -> LogHistory:
        return history.metadata(3, -1, 1, isr=()).described(3, -1, 1, eligible=eligible)

    def elected(self, history: LogHistory) -> LogHistory:
        return history.settled(2, 2, isr=(2,)).whole(2, A, epoch=2, hw=1)

    def test_it_is_started_after_the_description(self) -> None:
        history = self.elected(self.leaderless(self.created().hit("wipe-disk", 2)).heal("wipe-disk", 2))
        assert held(KEPT, history) == []
        assert excused(KEPT, history) == [("kept", ELECTED_UNCLEANLY_BY_CONFIG)]

    def test_it_was_started_before_the_description(self) -> None:
        history = self.elected(self.leaderless(self.created().hit("wipe-disk", 2).heal("wipe-disk", 2)))
        assert broken(KEPT, history) == ["kept"]

    def test_it_was_shut_down_cleanly(self) -> None:
        history = self.elected(self.leaderless(self.created().hit("stop", 2)).heal("stop", 2))
        assert broken(KEPT, history) == ["kept"]

    def test_another_was_started(self) -> None:
        history = self.elected(self.leaderless(self.created().hit("wipe-disk", 1)).heal("wipe-disk", 1))
        assert broken(KEPT, history) == ["kept"]

    def test_the_topic_forbids_unclean_elections(self) -> None:
        history = self.elected(self.leaderless(self.created("false").hit("wipe-disk", 2)).heal("wipe-disk", 2))
        assert broken(KEPT, history) == ["kept"]

    def test_it_was_in_the_isr_as_described(self) -> None:
        history = (
            self.created().hit("kill", 2).metadata(3, -1, 1, isr=(2,)).described(3, -1, 1, isr=(2,), eligible=(1,))
        )
        assert broken(KEPT, self.elected(history.heal("kill", 2))) == ["kept"]

    @pytest.mark.parametrize(("fault", "expected"), [("wipe-disk", []), ("stop", ["kept"])])
    def test_an_unclean_election_was_requested_and_not_answered(self, fault: str, expected: list[str]) -> None:
        history = self.created("false").hit(fault, 2).elect_uncleanly(3, lost=True)
        history = self.elected(self.leaderless(history).heal(fault, 2))
        assert broken(KEPT, history) == expected

    def test_the_other_controllers_keep_it_in_the_isr(self) -> None:
        """Before eligible leader replicas the election is clean, however the broker was shut down; the disk is the reason."""
        history = self.created().hit("wipe-disk", 2).metadata(3, -1, 1, isr=(2,)).heal("wipe-disk", 2)
        assert excused(KEPT, self.elected(history)) == [("kept", DISK_LOST_BY_FAULT)]


class TestUncleanElectionByFault:
    def elected(self) -> LogHistory:
        """An unclean election made 2 the leader, which acknowledged `p`."""
        history = LogHistory().created(min_insync_replicas="1").settled(1, 0).produce(1, "a", at=0)
        history.hit("unclean-election", 1, partition="topic-0", own_topic=False).settled(2, 1)
        return history.produce(2, "p", at=1).whole(2, A, stamped(1, 1, "p"), epoch=1, hw=2)

    @pytest.mark.parametrize("healed", [True, False])
    def test_what_the_new_leader_acknowledged_is_kept(self, healed: bool) -> None:
        """Healing is no second election."""
        history = self.elected()
        if healed:
            history.heal("unclean-election", 1)
        history.whole(2, A, epoch=1, hw=1).settled(3, 2).whole(3, A, epoch=2, hw=1)
        assert broken(KEPT, history) == ["kept"]

    def test_records_that_the_new_leader_never_had_are_gone(self) -> None:
        history = LogHistory().settled(1, 0).produce(1, "a", "b", at=0)
        history.hit("unclean-election", 1, partition="topic-0", own_topic=False).settled(2, 1).whole(
            2, A, epoch=1, hw=1
        )
        assert held(KEPT, history) == []
        assert permissions(history) == [ELECTED_UNCLEANLY_BY_FAULT]
        assert excused(KEPT, history) == [("kept", ELECTED_UNCLEANLY_BY_FAULT)]

    def test_a_clean_election_after_it_was_healed(self) -> None:
        history = acknowledged().hit("unclean-election", 1, partition="topic-0", own_topic=False)
        history.heal("unclean-election", 1).settled(2, 1).whole(2, A, epoch=1, hw=1)
        assert broken(KEPT, history) == ["kept"]


# --- other rows that permit losses


def test_a_second_leader_commits_at_an_offset_after_an_unclean_election_was_over() -> None:
    """3 was elected uncleanly before both writes; 1 deposes it, and it acknowledges a write at the same offset."""
    for elected in (True, False):
        history = LogHistory().created(min_insync_replicas="2").settled(1, 0)
        if elected:
            history.elect_uncleanly(3)
        history.settled(3, 1).produce(3, "p", at=0).hit("cut-off-from-controllers", 3)
        history.metadata(1, 1, 2).metadata(2, 1, 2).produce(1, "q", at=1).produce(3, "r", at=1)
        assert broken(ONE_COMMIT, history) == ["acknowledged"]


@pytest.mark.parametrize("leads_again", [True, False])
def test_a_stale_leader_acknowledges_a_write_that_is_never_read(leads_again: bool) -> None:
    history = LogHistory().created(min_insync_replicas="2").settled(1, 0).produce(1, "a", at=0)
    history.hit("cut-off-from-controllers", 1).metadata(2, 2, 1, isr=(2, 3)).metadata(3, 2, 1, isr=(2, 3))
    history.fetch(2, A, epoch=1, hw=1).produce(1, "z", at=1).heal("cut-off-from-controllers", 1)
    history.whole(2, A, epoch=1, hw=1)
    if leads_again:
        history.settled(1, 2).fetch(1, A, epoch=2, hw=1)
    assert broken(leader_epochs.former_leaders_commit_nothing, history) == ["acks-all"]


def test_a_write_that_the_former_leader_may_have_acknowledged_when_it_led_again() -> None:
    history = LogHistory().created(min_insync_replicas="2").settled(1, 0).produce(1, "a", at=0)
    history.hit("cut-off-from-controllers", 1).metadata(2, 2, 1, isr=(2, 3)).metadata(3, 2, 1, isr=(2, 3))
    history.fetch(2, A, epoch=1, hw=1).heal("cut-off-from-controllers", 1).produce(1, "z", at=1).settled(1, 2)
    assert held(leader_epochs.former_leaders_commit_nothing, history.fetch(1, A, epoch=2, hw=2)) == []


def test_a_stale_leader_that_an_unclean_election_passed_over() -> None:
    history = LogHistory().settled(1, 0).produce(1, "a", at=0).elect_uncleanly(2).metadata(2, 2, 1).metadata(3, 2, 1)
    history.fetch(2, A, epoch=1, hw=1).produce(1, "z", at=1)
    assert held(leader_epochs.former_leaders_commit_nothing, history) == []
    assert permissions(history) == [ELECTED_UNCLEANLY_ON_REQUEST]
