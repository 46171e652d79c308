"""Settings of a topic over time: what may be in force, and what certainly is."""

from __future__ import annotations

from math import inf
from typing import Any
from uuid import UUID

import pytest

from conformance.judging.log.settings import (
    SETTLED_AFTER,
    Retention,
    Setting,
    ValueInForce,
    min_insync_replicas,
    possible_min_isr,
    unclean_election,
)
from conformance.judging.timeline import MIN_ISR, NEVER, UNCLEAN_ELECTION
from protocol.codes import Error
from tests.support.histories import TOPIC, LogHistory
from tests.support.judging import partition_story

OWN, BY_CLUSTER, BUILT_IN = 1, 3, 5
"""ConfigSources: of the topic, of the cluster default, of what a broker takes where neither is set."""
ONE, OTHER = UUID(int=1), UUID(int=2)


def unclean(history: LogHistory) -> Setting:
    return partition_story(history.settled(1, 0)).derive(unclean_election)


def in_force(history: LogHistory) -> tuple[str, str] | None:
    """The value in force at the end of the history, and its owner."""
    found = unclean(history).in_force(len(history.events))
    return found and (found.text, found.owner)


def test_the_cluster_was_started_with_another_default() -> None:
    assert in_force(LogHistory().started_with(unclean_leader_election_enable="true")) == ("true", "cluster")
    deletes = LogHistory().started_with(log_retention_ms="1000").created().settled(1, 0)
    assert (Retention(partition_story(deletes)).begins, Retention(partition_story(deletes)).ends) == (1, inf)


def created(**configs: str) -> LogHistory:
    return LogHistory().created(**configs)


def altered(value: str, of: str = TOPIC.name, **how: Any) -> LogHistory:
    return created().altered(UNCLEAN_ELECTION, value, of=of, **how)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (LogHistory(), ("false", "cluster")),
        (created(), ("false", "cluster")),
        (created(unclean_leader_election_enable="true"), ("true", "topic")),
        (altered("true"), ("true", "topic")),
        (altered("true").altered(UNCLEAN_ELECTION, None), ("false", "cluster")),
        (altered("true", error=Error.INVALID_CONFIG), ("false", "cluster")),
        (altered("true", lost=True), None),
        (altered("true", of=""), ("true", "cluster")),
        (altered("true", of="").altered(UNCLEAN_ELECTION, "false"), ("false", "topic")),
        (altered("true", of="").altered(UNCLEAN_ELECTION, None, of=""), ("false", "cluster")),
        (altered("true").altered("retention.ms", "1"), ("true", "topic")),
        (altered("true", of="other"), ("false", "cluster")),
        (altered("true").deleted().created_as(OTHER), ("false", "cluster")),
        (LogHistory().configured(UNCLEAN_ELECTION, "true", OWN), ("true", "topic")),
        (LogHistory().configured(UNCLEAN_ELECTION, "true", BY_CLUSTER), ("true", "cluster")),
        (LogHistory().configured(UNCLEAN_ELECTION, "true", BUILT_IN), ("true", "cluster")),
        (altered("true").configured(UNCLEAN_ELECTION, "false", OWN), ("true", "topic")),
    ],
)
def test_the_value_in_force_is_the_one_that_was_acknowledged_last(
    history: LogHistory, expected: tuple[str, str] | None
) -> None:
    assert in_force(history) == expected


def test_a_value_is_in_force_since_its_request() -> None:
    history = created().settled(1, 0)
    asked = len(history.events)
    found = unclean(history.altered(UNCLEAN_ELECTION, "true"))
    answered = asked + 1
    assert found.in_force(asked) == ValueInForce("false", "cluster", -1)
    assert found.in_force(answered + 1) == ValueInForce("true", "topic", asked)


def test_a_request_of_unknown_outcome_leaves_open_only_what_comes_after_it() -> None:
    history = created().settled(1, 0)
    asked = len(history.events)
    found = unclean(history.altered(UNCLEAN_ELECTION, "true", lost=True))
    assert found.in_force(asked) == ValueInForce("false", "cluster", -1)
    assert found.in_force(asked + 1) is None


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (created(), {"false"}),
        (created(unclean_leader_election_enable="true"), {"true"}),
        (altered("true"), {"true"}),
        (altered("true", lost=True), {"false", "true"}),
        (altered("true", error=Error.REQUEST_TIMED_OUT), {"false", "true"}),
        (altered("true", error=Error.INVALID_CONFIG), {"false"}),
        (altered("true", lost=True).altered(UNCLEAN_ELECTION, "false"), {"false", "true"}),
        (altered("true", of="", lost=True), {"false", "true"}),
        (altered("true", of="", lost=True).altered(UNCLEAN_ELECTION, "false"), {"false"}),
        (altered("true").altered(UNCLEAN_ELECTION, None), {"false"}),
        (altered("true").altered(UNCLEAN_ELECTION, None, lost=True), {"false", "true"}),
    ],
)
def test_a_value_may_be_in_force_from_its_request_until_another_is_acknowledged(
    history: LogHistory, expected: set[str]
) -> None:
    end = len(history.events)
    assert unclean(history).possible_values(end, NEVER) == expected


@pytest.mark.parametrize(
    ("after", "described", "expected"),
    [
        (SETTLED_AFTER + 1, "false", {"false"}),
        (SETTLED_AFTER + 1, "true", {"true"}),
        (1.0, "false", {"false", "true"}),
    ],
)
def test_a_description_settles_a_request_of_unknown_outcome_that_is_long_over(
    after: float, described: str, expected: set[str]
) -> None:
    history = altered("true", lost=True).later(after).configured(UNCLEAN_ELECTION, described, OWN)
    end = len(history.events)
    assert unclean(history).possible_values(end, NEVER) == expected


def test_an_earlier_request_of_unknown_outcome_was_possible_until_the_description() -> None:
    history = altered("true", lost=True).altered(UNCLEAN_ELECTION, "false")
    before = len(history.events)
    history.later(SETTLED_AFTER + 1).configured(UNCLEAN_ELECTION, "false", OWN)
    end = len(history.events)
    found = unclean(history)
    assert [found.possible_values(event, event) for event in (before, end)] == [{"false", "true"}, {"false"}]


def test_a_value_begins_at_its_request_or_where_it_is_in_force_already() -> None:
    history = created(unclean_leader_election_enable="true").altered(UNCLEAN_ELECTION, "false").settled(1, 0)
    asked = len(history.events)
    found = unclean(history.altered(UNCLEAN_ELECTION, "true"))
    assert [found.first_in_force(lambda text: text == "true", since) for since in (-1, asked - 1)] == [0, asked]
    assert found.first_in_force(lambda text: text == "maybe") == inf


def test_a_value_that_is_changed_meanwhile_may_be_in_force_as_well_as_the_one_before() -> None:
    history = altered("true")
    first = len(history.events)
    found = unclean(history.altered(UNCLEAN_ELECTION, "false"))
    assert found.possible_values(first, first) == {"true"}
    assert found.possible_values(first, NEVER) == {"false", "true"}


def test_a_value_was_ever_set_even_if_it_is_not_any_more() -> None:
    found = unclean(altered("true").altered(UNCLEAN_ELECTION, None))
    assert found.ever_had("true")
    assert not found.ever_had("false")


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (created().settled(1, 0), {1}),
        (created(min_insync_replicas="2").settled(1, 0), {2}),
        (created().altered(MIN_ISR, "2").settled(1, 0), {2}),
        (created().settled(1, 0).altered(MIN_ISR, "2"), {1, 2}),
        (created().settled(1, 0).altered(MIN_ISR, "3", lost=True).altered(MIN_ISR, "2", of=""), {1, 2, 3}),
    ],
)
def test_the_minimal_isr_is_one_of_those_since_the_partition_was_first_described(
    history: LogHistory, expected: set[int]
) -> None:
    assert possible_min_isr(partition_story(history)) == expected


def test_settings_do_not_mix() -> None:
    story = partition_story(created(min_insync_replicas="2").altered(UNCLEAN_ELECTION, "true").settled(1, 0))
    end = len(story.timeline.configured) + 10
    assert story.derive(min_insync_replicas).in_force(end) == ValueInForce("2", "topic", 0)
    assert story.derive(unclean_election).in_force(end) == ValueInForce("true", "topic", 2)
