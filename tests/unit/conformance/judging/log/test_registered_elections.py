"""Elections by the metadata log: bad histories of GEN-09, each next to a legal one that comes close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.judging.excuses import (
    ELECTED_UNCLEANLY_BY_CONFIG,
    ELECTED_UNCLEANLY_BY_FAULT,
    ELECTED_UNCLEANLY_ON_REQUEST,
    LAST_KNOWN_LEADER,
    Evidence,
)
from conformance.judging.log.elections import only_electable_replicas_lead
from conformance.judging.log.registered_elections import only_electable_replicas_are_registered as JUDGE
from conformance.judging.timeline import CONVERGENCE_TIMEOUT
from history.effects import Effects
from history.readings import PartitionRegistration
from protocol.codes import Error
from tests.support.histories import LogHistory
from tests.support.judging import broken, excused, held, judged_by

UNCLEAN = "unclean.leader.election.enable"
ALL = (1, 2, 3)


def word(leader: int, epoch: int, isr: tuple[int, ...] = ALL, **how: Any) -> PartitionRegistration:
    return PartitionRegistration(leader, isr, epoch=epoch, **{"replicas": ALL, "unfenced": (2, 3), **how})


ALONE, LED = word(1, 0, (1,)), word(2, 1, (2,))
"""1 is alone in the ISR, and 2 leads next."""


def led(history: LogHistory | None = None) -> LogHistory:
    return (history or LogHistory().settled(1, 0)).settled(2, 1, isr=(2,)).registrations(ALONE, LED)


class TestElections:
    def test_out_of_the_isr_at_once(self) -> None:
        assert broken(JUDGE, led()) == ["silent"]

    def test_out_of_the_isr_later(self) -> None:
        history = LogHistory().settled(1, 0).registrations(ALONE, word(-1, 1, (1,)), word(2, 2, (2,)))
        assert [(one.case, one.result) for one in judged_by(JUDGE, history)] == [("silent", "violated")]

    def test_a_partition_that_never_gets_a_leader_shows_nothing(self) -> None:
        assert judged_by(JUDGE, LogHistory().settled(1, 0).registrations(ALONE, word(-1, 1, (1,)))) == []

    def test_of_the_isr(self) -> None:
        history = LogHistory().settled(1, 0).registrations(word(1, 0, (1, 2)), word(2, 1, (2,)))
        assert held(JUDGE, history) == ["silent"]

    def test_of_the_elr(self) -> None:
        left = word(-1, 1, (), eligible=(2,))
        assert held(JUDGE, LogHistory().settled(1, 0).registrations(left, word(2, 2, (2,)))) == ["silent"]
        assert broken(JUDGE, LogHistory().settled(1, 0).registrations(left, word(3, 2, (3,)))) == ["silent"]

    def test_of_the_last_known_leader(self) -> None:
        left = word(-1, 1, (), last_known=(2,))
        assert held(JUDGE, LogHistory().settled(1, 0).registrations(left, word(2, 2, (2,)))) == ["last-known"]
        assert broken(JUDGE, LogHistory().settled(1, 0).registrations(left, word(3, 2, (3,)))) == ["last-known"]
        eligible = word(-1, 1, (), eligible=(3,), last_known=(2,))
        assert broken(JUDGE, LogHistory().settled(1, 0).registrations(eligible, word(2, 2, (2,)))) == ["silent"]

    def test_that_completes_a_reassignment(self) -> None:
        moved = word(2, 1, (2,), replicas=(2,))
        assert (
            judged_by(JUDGE, LogHistory().settled(1, 0).registrations(word(1, 0, (1,), replicas=(1, 2)), moved)) == []
        )

    def test_without_another_live_replica(self) -> None:
        history = (
            LogHistory()
            .settled(1, 0)
            .registrations(ALONE, word(-1, 1, (1,), unfenced=()), word(1, 2, (1,), unfenced=(1,)))
        )
        assert judged_by(JUDGE, history) == []

    def test_the_leader_stays(self) -> None:
        assert judged_by(JUDGE, LogHistory().settled(1, 0).registrations(ALONE, word(1, 0, (1, 2)), word(1, 1))) == []


class TestCases:
    def test_the_topic_forbids_it(self) -> None:
        history = LogHistory().created(unclean_leader_election_enable="false").altered(UNCLEAN, "true", of="")
        assert broken(JUDGE, led(history.settled(1, 0))) == ["explicitly-off"]

    def test_the_last_in_sync_replica_lost_its_disk(self) -> None:
        assert broken(JUDGE, led(LogHistory().settled(1, 0).hit("wipe-disk", 1))) == ["disk-lost"]
        assert broken(JUDGE, led(LogHistory().settled(1, 0).hit("wipe-disk", 3))) == ["silent"]


class TestPermissions:
    def by(self, history: LogHistory) -> list[tuple[str, Evidence]]:
        assert broken(JUDGE, history) == []
        return excused(JUDGE, history)

    def test_the_topic_permits_it(self) -> None:
        history = led(LogHistory().created(unclean_leader_election_enable="true").settled(1, 0))
        assert self.by(history) == [("silent", ELECTED_UNCLEANLY_BY_CONFIG)]

    def test_it_was_permitted_until_shortly_before(self) -> None:
        """Brokers may lag, so the election may have come before the last answer with the former epoch."""

        def forbidden(seconds: float) -> LogHistory:
            history = LogHistory().created(unclean_leader_election_enable="true").settled(1, 0, isr=(1, 2))
            return led(history.altered(UNCLEAN, "false").later(seconds).metadata(1, 1, 0))

        assert self.by(forbidden(1)) == [("explicitly-off", ELECTED_UNCLEANLY_BY_CONFIG)]
        assert broken(JUDGE, forbidden(CONVERGENCE_TIMEOUT + 1)) == ["explicitly-off"]

    def test_it_was_permitted_afterwards(self) -> None:
        assert broken(JUDGE, led().altered(UNCLEAN, "true")) == ["silent"]

    @pytest.mark.parametrize(
        ("hit", "after", "expected"),
        [
            pytest.param(lambda one: one.kill(3).start(3), {}, [], id="the last eligible replica was killed"),
            pytest.param(lambda one: one.kill(3), {}, ["silent"], id="it was killed, and has not come back"),
            pytest.param(
                lambda one: one.hit("unclean-election-by-config", 1, partition="other-0", own_topic=False).heal(
                    "unclean-election-by-config", 1
                ),
                {},
                [],
                id="a fault of another partition may restart every broker",
            ),
            pytest.param(lambda one: one, {}, ["silent"], id="none"),
            pytest.param(lambda one: one.kill(1).start(1), {}, ["silent"], id="another one was killed"),
            pytest.param(lambda one: one.hit("stop", 3).heal("stop", 3), {}, ["silent"], id="it was stopped"),
            pytest.param(lambda one: one.kill(3).start(3), {"eligible": (3,)}, ["silent"], id="it is still eligible"),
            pytest.param(lambda one: one.kill(3).start(3), {"leader": 1}, ["silent"], id="not the last known leader"),
        ],
    )
    def test_the_record_that_empties_the_elr_elects_the_last_known_leader(
        self, hit: Callable[[LogHistory], LogHistory], after: dict[str, Any], expected: list[str]
    ) -> None:
        """A controller writes one record if the last eligible replica registers after an unclean shutdown (KIP-966)."""
        history = hit(LogHistory().settled(2, 0)).metadata(1, -1, 1, isr=()).settled(2, 2, isr=(2,))
        leader = after.get("leader", 2)
        elected = word(leader, 2, (leader,), eligible=after.get("eligible", ()))
        history.registrations(word(-1, 1, (), eligible=(3,), last_known=(2,)), elected)
        assert broken(JUDGE, history) == expected
        assert excused(JUDGE, history) == ([] if expected else [("silent", LAST_KNOWN_LEADER)])

    def test_it_was_killed_and_back_long_before(self) -> None:
        history = LogHistory().settled(2, 0).kill(3).start(3).later(CONVERGENCE_TIMEOUT + 1).metadata(1, 2, 0)
        history.later(CONVERGENCE_TIMEOUT + 1).metadata(1, -1, 1, isr=()).settled(2, 2, isr=(2,))
        history.registrations(word(-1, 1, (), eligible=(3,), last_known=(2,)), word(2, 2, (2,)))
        assert broken(JUDGE, history) == ["silent"]

    def test_an_administrator_permits_it(self) -> None:
        history = led(LogHistory().settled(1, 0).elect_uncleanly(2))
        assert self.by(history) == [("silent", ELECTED_UNCLEANLY_ON_REQUEST)]
        history = led(LogHistory().settled(1, 0).elect_uncleanly(2, lost=True))
        assert self.by(history) == [("silent", ELECTED_UNCLEANLY_ON_REQUEST)]

    def test_an_administrator_was_refused_or_came_too_late_or_long_before(self) -> None:
        refused = LogHistory().settled(1, 0).elect_uncleanly(2, Error.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        assert broken(JUDGE, led(refused)) == ["silent"]
        late = LogHistory().settled(1, 0).settled(2, 1, isr=(2,)).elect_uncleanly(2).registrations(ALONE, LED)
        assert broken(JUDGE, late) == ["silent"]
        early = LogHistory().elect_uncleanly(2).later(CONVERGENCE_TIMEOUT + 1).settled(1, 0)
        assert broken(JUDGE, led(early)) == ["silent"]

    @pytest.mark.parametrize("lost", [False, True])
    def test_an_administrator_permits_the_next_change_only(self, lost: bool) -> None:
        """The request elects 2, and then 3 leads, which was never in the ISR: a broker does so by itself."""
        history = (
            LogHistory().settled(1, 0).elect_uncleanly(2, lost=lost).settled(2, 1, isr=(2,)).settled(3, 2, isr=(3,))
        )
        history.registrations(ALONE, LED, word(3, 2, (3,)))
        assert excused(JUDGE, history) == [("silent", ELECTED_UNCLEANLY_ON_REQUEST)]
        assert broken(JUDGE, history) == ["silent"]

    @pytest.mark.parametrize("lost", [False, True])
    def test_a_clean_change_uses_a_request_up(self, lost: bool) -> None:
        history = (
            LogHistory().settled(1, 0).elect_uncleanly(2, lost=lost).settled(2, 1, isr=(2,)).settled(3, 2, isr=(3,))
        )
        history.registrations(word(1, 0, (1, 2)), LED, word(3, 2, (3,)))
        assert excused(JUDGE, history) == []
        assert broken(JUDGE, history) == ["silent"]

    def test_a_fault_elects_uncleanly(self) -> None:
        effects = Effects(election="unclean")
        history = LogHistory().settled(1, 0).hit("unclean-election", 1, effects=effects, partition="topic-0")
        assert self.by(led(history)) == [("silent", ELECTED_UNCLEANLY_BY_FAULT)]
        another = LogHistory().settled(1, 0).hit("unclean-election", 1, effects=effects, partition="topic-1")
        assert broken(JUDGE, led(another)) == ["silent"]

    @pytest.mark.parametrize("returns", [False, True])
    def test_a_broker_still_named_the_former_epoch(self, returns: bool) -> None:
        """One that is cut off, or was until a moment ago, may lag by any time: the request may have come before."""

        def named(away: int) -> LogHistory:
            fault = "cut-off-from-controllers"
            history = LogHistory().settled(1, 0).hit(fault, away).elect_uncleanly(2).later(CONVERGENCE_TIMEOUT + 1)
            if returns:
                history.heal(fault, away)
            history.metadata(3, 1, 1, isr=(1,)).settled(2, 2, isr=(2,))
            return history.registrations(word(1, 0, (1,)), word(1, 1, (1,)), word(2, 2, (2,)))

        assert self.by(named(3)) == [("silent", ELECTED_UNCLEANLY_ON_REQUEST)]
        assert broken(JUDGE, named(1)) == ["silent"]


def test_the_log_takes_the_place_of_descriptions() -> None:
    history = LogHistory().settled(1, 0, isr=(1,)).kill(1).metadata(2, -1, 1, isr=(1,), unfenced=(2, 3))
    history.settled(2, 2, isr=(2,))
    assert broken(only_electable_replicas_lead, history) == ["silent"]
    history.registrations(ALONE, word(-1, 1, (1,)), word(2, 2, (2,)))
    assert judged_by(only_electable_replicas_lead, history) == []
    assert broken(JUDGE, history) == ["silent"]
