"""Leader epochs that each broker incarnation knew, by what it served and what it refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.judging.facts.log import ErrorResponse
from conformance.judging.log.known_epochs import KnownEpochs, ServingLeader
from conformance.judging.timeline import NEVER
from protocol.codes import Error
from tests.support.histories import LogHistory, stamped
from tests.support.judging import partition_story

A = stamped(0, 0, "a")
Step = Callable[[LogHistory], LogHistory]


def known(history: LogHistory) -> KnownEpochs:
    return partition_story(history).derive(KnownEpochs)


def two_epochs() -> LogHistory:
    """Broker 1 led epoch 0, and broker 2 leads epoch 1."""
    return LogHistory().settled(1, 0).settled(2, 1)


def last_refusal(found: KnownEpochs) -> ErrorResponse:
    return found.story.errors[-1]


def test_what_named_no_epoch_or_was_refused_is_not_served() -> None:
    history = two_epochs().fetch(2, A, epoch=1, hw=1).fetch(2, A, epoch=-1, hw=1).latest(2, 1, epoch=1).latest(2, 1)
    history.epoch_end(2, 0, (0, 1), 1).epoch_end(2, 0, (0, 1), -1).refused(1, 0, Error.FENCED_LEADER_EPOCH)
    found = known(history).answers
    assert [(one.op, one.node, one.cur) for one in found] == [
        ("fetch", "broker-2", 1),
        ("list_offsets", "broker-2", 1),
        ("offset_for_leader_epoch", "broker-2", 1),
    ]


class TestTheLeast:
    """A broker that served an epoch had been at it, and one that fenced an epoch at a later one."""

    @pytest.mark.parametrize(
        ("history", "epochs"),
        [
            (two_epochs(), []),
            (two_epochs().fetch(2, epoch=0, hw=0), [0]),
            (two_epochs().fetch(2, epoch=1, hw=0), [0, 1]),
            (two_epochs().refused(2, 0, Error.FENCED_LEADER_EPOCH), [0, 1]),
            (two_epochs().refused(2, 0, Error.UNKNOWN_LEADER_EPOCH), []),
            (two_epochs().fetch(2, epoch=5, hw=0), []),
            (two_epochs().fetch(1, epoch=1, hw=0), []),
            (two_epochs().fetch(2, epoch=1, hw=0).restart(2), []),
        ],
        ids=["nothing", "older", "served", "fenced", "unknown", "never named", "another broker", "restarted"],
    )
    def test_a_broker_was_at_each_epoch_up_to_the_newest_that_it_acted_on(
        self, history: LogHistory, epochs: list[int]
    ) -> None:
        found = known(history.refused(2, 9, Error.UNKNOWN_LEADER_EPOCH))
        asked = last_refusal(found)
        assert [epoch for epoch in (0, 1, 2) if found.event_at_epoch(asked, epoch)] == epochs

    def test_it_was_there_by_the_event_of_its_answer(self) -> None:
        history = two_epochs().fetch(2, epoch=0, hw=0)
        first = len(history.events) - 1
        history.fetch(2, epoch=1, hw=0)
        second = len(history.events) - 1
        found = known(history.refused(2, 0, Error.UNKNOWN_LEADER_EPOCH))
        asked = last_refusal(found)
        assert [found.event_at_epoch(asked, epoch) for epoch in (0, 1, 2)] == [first, second, 0]
        assert found.event_past_epoch(asked) == second

    def test_what_was_answered_after_the_request_shows_nothing_of_then(self) -> None:
        found = known(two_epochs().refused(2, 0, Error.UNKNOWN_LEADER_EPOCH).fetch(2, epoch=1, hw=0))
        assert found.event_at_epoch(last_refusal(found), 1) == found.event_past_epoch(last_refusal(found)) == 0


class TestTheMost:
    """A broker that serves an epoch afterwards, or names no later one, had not passed it."""

    @pytest.mark.parametrize(
        ("after", "served_later", "still_there"),
        [
            (LogHistory.at_rest, False, False),
            (lambda history: history.fetch(1, epoch=0, hw=0), True, True),
            (lambda history: history.fetch(1, epoch=1, hw=0), False, False),
            (lambda history: history.fetch(1, epoch=1, hw=0).fetch(1, epoch=0, hw=0), True, True),
            (lambda history: history.fetch(2, epoch=0, hw=0), False, False),
            (lambda history: history.restart(1).fetch(1, epoch=0, hw=0), False, False),
            (lambda history: history.metadata(1, 1, 0), False, True),
            (lambda history: history.metadata(1, 2, 1), False, False),
            (lambda history: history.metadata(2, 1, 0), False, False),
        ],
        ids=[
            "nothing",
            "same",
            "later",
            "same at last",
            "other broker",
            "restarted",
            "named",
            "named later",
            "other's",
        ],
    )
    def test_it_is_still_at_an_epoch(self, after: Step, served_later: bool, still_there: bool) -> None:
        history = two_epochs().refused(1, 0, Error.FENCED_LEADER_EPOCH)
        found = known(after(history))
        refusal = last_refusal(found)
        assert found.event_serving_later(refusal) == (len(history.events) - 1 if served_later else 0)
        assert found.event_still_at_epoch(refusal) == (len(history.events) - 1 if still_there else 0)


class TestTheSuccessor:
    def test_there_is_none_until_another_leader_acts(self) -> None:
        found = known(two_epochs().fetch(1, epoch=0, hw=0))
        assert found.has_successors
        assert found.successor("broker-1", NEVER) is None

    def test_it_puts_an_end_to_the_latest_epoch_that_the_broker_led(self) -> None:
        history = two_epochs().fetch(1, epoch=0, hw=0)
        before = len(history.events)
        history.fetch(2, epoch=1, hw=0)
        event = len(history.events) - 1
        found = known(history)
        assert found.successor("broker-1", event + 1) == ServingLeader(event, "broker-2", 1, stale=0)
        assert found.successor("broker-1", before) is None
        assert found.successor("broker-2", event + 1) is None, "it leads"
        assert found.successor("broker-3", event + 1) is None, "it never led"

    def test_the_epoch_that_it_ended_is_the_latest_before_it(self) -> None:
        """Broker 1 is to lead again, and broker 2 led before."""
        history = LogHistory().settled(2, 0).settled(1, 1).settled(2, 2).settled(1, 3).fetch(2, epoch=2, hw=0)
        found = known(history)
        successor = found.successor("broker-1", NEVER)
        assert successor is not None
        assert (successor.cur, successor.stale) == (2, 1)
        assert found.successor("broker-2", NEVER) is None

    def test_one_leader_has_no_successor(self) -> None:
        found = known(LogHistory().settled(1, 0).settled(1, 1).fetch(1, epoch=1, hw=0))
        assert not found.has_successors
        assert not known(two_epochs()).has_successors, "no leader was seen to act"

    def test_a_follower_that_serves_the_epoch_has_not_taken_over(self) -> None:
        found = known(two_epochs().fetch(3, epoch=1, hw=0))
        assert not found.has_successors
