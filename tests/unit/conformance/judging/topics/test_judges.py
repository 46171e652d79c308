"""The judges of administration: silent on an honest history and its legal neighbours, they catch what they are there for."""

from __future__ import annotations

import pytest

from conformance.judging.facts.topics import Resource
from conformance.judging.judge import Judge
from conformance.judging.topics.judges import TOPIC_JUDGES, acknowledged_values
from tests.support.administration import (
    BROKER_1,
    BROKERS,
    CLUSTER_DEFAULT,
    THE_GROUP,
    THE_TOPIC,
    AdministrationHistory,
)

REFUSED_TRACE, AS_ACKNOWLEDGED = TOPIC_JUDGES
INVALID_CONFIG, INVALID_REPLICATION_FACTOR, TOPIC_ALREADY_EXISTS, TOO_LARGE = 40, 38, 36, 10
NOT_CONTROLLER, TIMED_OUT = 41, 7
LIMIT = "max.message.bytes"


def results(history: AdministrationHistory, judge: Judge) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judge(history.history)]


# --- GEN-01: refused leaves no trace


def test_a_topic_whose_creation_was_refused_is_nowhere() -> None:
    history = AdministrationHistory().create(9, error=INVALID_REPLICATION_FACTOR).seen(0).seen(0, on="broker-2")
    assert results(history, REFUSED_TRACE) == [("topic", "held"), ("topic", "held")]


def test_a_topic_that_is_there_although_its_creation_was_refused() -> None:
    history = AdministrationHistory().create(9, error=INVALID_REPLICATION_FACTOR).seen(9)
    assert results(history, REFUSED_TRACE) == [("topic", "violated")]


def test_a_refused_creation_does_not_change_the_topic_that_is_there() -> None:
    history = AdministrationHistory().create(2).create(9, {"retention.ms": "5"}, error=TOPIC_ALREADY_EXISTS)
    history.seen(2).described(THE_TOPIC, {"retention.ms": "7"})
    assert results(history, REFUSED_TRACE) == [("topic", "held"), ("topic", "held")]
    history.seen(9, on="broker-2").described(THE_TOPIC, {"retention.ms": "5"}, on="broker-2")
    assert results(history, REFUSED_TRACE).count(("topic", "violated")) == 2


def test_what_was_refused_is_created_plainly_afterwards_without_leftovers() -> None:
    refused = AdministrationHistory().create(9, {"retention.ms": "5"}, error=INVALID_CONFIG).create(2)
    assert results(refused.seen(2).described(THE_TOPIC, {}), REFUSED_TRACE) == [("topic", "held"), ("topic", "held")]
    refused.described(THE_TOPIC, {"retention.ms": "5"}, on="broker-2")
    assert ("topic", "violated") in results(refused, REFUSED_TRACE)


@pytest.mark.parametrize("error", [None, TIMED_OUT, NOT_CONTROLLER])
def test_a_creation_of_open_outcome_is_no_refusal(error: int | None) -> None:
    assert results(AdministrationHistory().create(3, error=error).seen(3), REFUSED_TRACE) == []


def test_a_refused_creation_says_nothing_where_another_of_open_outcome_asked_for_the_same() -> None:
    history = AdministrationHistory().create(3, error=None).create(3, error=TOPIC_ALREADY_EXISTS).seen(3)
    assert results(history, REFUSED_TRACE) == []


@pytest.mark.parametrize(("seen", "result"), [(2, "held"), (5, "violated")])
def test_a_refused_growth_leaves_the_number_of_partitions(seen: int, result: str) -> None:
    history = AdministrationHistory().create(2).grow(5, error=INVALID_CONFIG).seen(seen)
    assert results(history, REFUSED_TRACE) == [("partitions", result)]


def test_a_growth_that_was_acknowledged_in_between_explains_the_number() -> None:
    history = AdministrationHistory().create(2).grow(5, error=INVALID_CONFIG).grow(5).seen(5)
    assert results(history, REFUSED_TRACE) == []


@pytest.mark.parametrize("resource", [THE_TOPIC, CLUSTER_DEFAULT, BROKER_1, THE_GROUP], ids=str)
@pytest.mark.parametrize(("value", "result"), [("1", "held"), ("2", "violated")])
def test_no_value_of_a_refused_alteration_is_described(resource: Resource, value: str, result: str) -> None:
    history = (
        AdministrationHistory()
        .alter(resource, {"k": "1"})
        .alter(resource, {"k": "2", "bad": "x"}, error=INVALID_CONFIG)
    )
    assert results(history.described(resource, {"k": value}), REFUSED_TRACE)[0] == ("configuration", result)


def test_a_value_that_was_described_before_the_refusal_says_nothing() -> None:
    history = (
        AdministrationHistory().described(THE_TOPIC, {"k": "2"}).alter(THE_TOPIC, {"k": "2"}, error=INVALID_CONFIG)
    )
    assert results(history, REFUSED_TRACE) == []


def test_the_same_value_from_another_source_is_no_trace() -> None:
    history = AdministrationHistory().alter(THE_TOPIC, {"k": "2"}, error=INVALID_CONFIG)
    assert results(history.described(THE_TOPIC, {"k": "2"}, source=5), REFUSED_TRACE) == [("configuration", "held")]


# --- GEN-19: configuration is as acknowledged


CASES = {"topic": THE_TOPIC, "cluster-default": CLUSTER_DEFAULT, "broker": BROKER_1, "group": THE_GROUP}


@pytest.mark.parametrize("case", CASES)
def test_at_rest_every_broker_describes_what_was_acknowledged(case: str) -> None:
    resource = CASES[case]
    honest = AdministrationHistory().alter(resource, {"k": "1"}).at_rest().described_everywhere(resource, {"k": "1"})
    assert results(honest, AS_ACKNOWLEDGED) == [(case, "held")] * len(BROKERS)
    behind = AdministrationHistory().alter(resource, {"k": "1"}).alter(resource, {"k": "2"}).at_rest()
    behind.described(resource, {"k": "2"}).described(resource, {"k": "1"}, on="broker-2")
    assert results(behind, AS_ACKNOWLEDGED) == [(case, "held"), (case, "violated")]


def test_brokers_that_never_come_to_agree_are_judged_once_the_bound_has_passed() -> None:
    history = AdministrationHistory().alter(THE_TOPIC, {"k": "1"}).at_rest(met=False).described(THE_TOPIC, {})
    assert results(history, AS_ACKNOWLEDGED) == [("topic", "violated")]


def test_a_key_that_was_not_asked_for_is_not_judged() -> None:
    history = AdministrationHistory().alter(THE_TOPIC, {"k": "1"}).at_rest().described(THE_TOPIC, {}, keys=["other"])
    assert results(history, AS_ACKNOWLEDGED) == []


def test_a_broker_that_lags_before_rest_is_not_judged() -> None:
    history = AdministrationHistory().alter(THE_TOPIC, {"k": "1"}).described(THE_TOPIC, {}).at_rest()
    assert results(history, AS_ACKNOWLEDGED) == []


def test_a_deleted_value_is_no_longer_described_as_set() -> None:
    deleted = AdministrationHistory().alter(THE_TOPIC, {"k": "1"}).alter(THE_TOPIC, {"k": None}).at_rest()
    assert results(deleted.described(THE_TOPIC, {"k": "9"}, source=5), AS_ACKNOWLEDGED) == [("deleted", "held")]
    assert ("deleted", "violated") in results(deleted.described(THE_TOPIC, {"k": "1"}, on="broker-2"), AS_ACKNOWLEDGED)


def test_the_deletion_of_a_value_that_was_never_set_shows_nothing() -> None:
    history = AdministrationHistory().alter(THE_TOPIC, {"k": None}).at_rest().described(THE_TOPIC, {})
    assert results(history, AS_ACKNOWLEDGED) == []


def test_an_answer_with_an_error_does_not_describe_what_was_acknowledged() -> None:
    history = AdministrationHistory().create(1, {"k": "1"}).at_rest().described(THE_TOPIC, {}, error=3)
    assert results(history, AS_ACKNOWLEDGED) == [("topic", "violated")]


def test_one_broker_s_own_value_is_described_by_that_broker_only() -> None:
    history = AdministrationHistory().alter(BROKER_1, {"k": "1"}).at_rest().described(BROKER_1, {"k": "1"})
    assert results(history.described(BROKER_1, {}, on="broker-2", error=42), AS_ACKNOWLEDGED) == [("broker", "held")]


@pytest.mark.parametrize("error", [None, TIMED_OUT])
def test_a_value_that_an_open_request_may_have_replaced_is_not_judged(error: int | None) -> None:
    history = (
        AdministrationHistory().alter(THE_TOPIC, {"k": "2"}, error=error).alter(THE_TOPIC, {"k": "1", "other": "3"})
    )
    history.at_rest().described(THE_TOPIC, {"k": "2", "other": "4"})
    assert results(history, AS_ACKNOWLEDGED) == [("topic", "violated")]  # `other` alone is certain


def test_a_topic_that_was_deleted_keeps_no_value() -> None:
    history = AdministrationHistory().create(1, {"k": "1"}).delete().at_rest().described(THE_TOPIC, {}, error=3)
    assert results(history, AS_ACKNOWLEDGED) == []
    again = AdministrationHistory().create(1, {"k": "1"}).delete().create(1).at_rest().described(THE_TOPIC, {})
    assert results(again, AS_ACKNOWLEDGED) == []


@pytest.mark.parametrize(
    ("size", "error", "expected"),
    [
        (5_000, TOO_LARGE, [("in-force", "held")]),
        (5_000, 0, [("in-force", "violated")]),
        (100, 0, [("in-force", "held")]),
        (100, TOO_LARGE, [("in-force", "violated")]),
        (1_900, TOO_LARGE, []),  # whether its batch is larger depends on what surrounds the value
        (5_000, None, []),
        (5_000, 6, []),  # it went to a broker that does not lead
    ],
)
def test_the_acknowledged_limit_is_in_force(size: int, error: int | None, expected: list[tuple[str, str]]) -> None:
    history = AdministrationHistory().create(1, {LIMIT: "2000"}).at_rest().produced(size, error)
    assert results(history, AS_ACKNOWLEDGED) == expected


def test_what_has_to_be_described_is_what_was_acknowledged_last() -> None:
    history = AdministrationHistory().create(1, {"a": "1", "b": "1"}).alter(THE_TOPIC, {"a": None})
    history.alter(THE_TOPIC, {"b": "2"}, error=INVALID_CONFIG)
    assert acknowledged_values(history.history) == {THE_TOPIC: {"a": None, "b": "1"}}
