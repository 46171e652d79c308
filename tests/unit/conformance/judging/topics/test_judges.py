"""The judges of administration: silent on an honest history and its legal neighbours, they catch what they are there for."""

from __future__ import annotations

import pytest

from conformance.judging.excuses import ANSWERED_OPEN, LOOKED_TOO_RARELY, NOT_ANSWERED, SENT_TWICE, Evidence
from conformance.judging.facts.topics import Resource
from conformance.judging.judge import Judge, judge_history
from conformance.judging.topics.judges import (
    acknowledged_configuration_is_in_force,
    acknowledged_values,
    refused_changes_leave_no_trace,
)
from tests.support.administration import (
    BROKER_1,
    BROKERS,
    CLUSTER_DEFAULT,
    CONTROLLER,
    THE_GROUP,
    THE_TOPIC,
    AdministrationHistory,
)
from tests.support.judging import named

REFUSED_TRACE, AS_ACKNOWLEDGED = refused_changes_leave_no_trace, acknowledged_configuration_is_in_force
INVALID_CONFIG, INVALID_REPLICATION_FACTOR, TOPIC_ALREADY_EXISTS, TOO_LARGE = 40, 38, 36, 10
NOT_CONTROLLER, TIMED_OUT, UNKNOWN_TOPIC, INVALID_PARTITIONS = 41, 7, 3, 37
LIMIT = "max.message.bytes"


def results(history: AdministrationHistory, judge: Judge) -> list[tuple[str, str]]:
    return [(one.case, one.result) for one in judge(history.history)]


def excuses(history: AdministrationHistory, judge: Judge) -> list[tuple[str, Evidence, int]]:
    return [(one.case, named(one.excuse), one.times) for one in judge_history([judge], history.history).excuses]


def says_nothing(history: AdministrationHistory, judge: Judge) -> bool:
    return not results(history, judge) and not excuses(history, judge)


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


def test_a_value_that_a_broker_described_before_the_refusal_is_no_trace_of_it() -> None:
    history = AdministrationHistory().create(2).described(THE_TOPIC, {"retention.ms": "5"})
    history.create(9, {"retention.ms": "5"}, error=TOPIC_ALREADY_EXISTS)
    assert results(history.described(THE_TOPIC, {"retention.ms": "5"}), REFUSED_TRACE) == [("topic", "held")]
    history.described(THE_TOPIC, {"retention.ms": "5"}, on="broker-2")
    assert ("topic", "violated") in results(history, REFUSED_TRACE)


def test_a_value_that_a_broker_described_of_the_former_topic_may_be_a_trace() -> None:
    history = AdministrationHistory().create(2, {"k": "5"}, id="a").seen(2, id="a").described(THE_TOPIC, {"k": "5"})
    history.delete().create(2, id="b").seen(2, id="b").alter(THE_TOPIC, {"k": "5"}, error=INVALID_CONFIG)
    assert ("configuration", "violated") in results(history.described(THE_TOPIC, {"k": "5"}), REFUSED_TRACE)


def test_what_was_refused_is_created_plainly_afterwards_without_leftovers() -> None:
    refused = AdministrationHistory().create(9, {"retention.ms": "5"}, error=INVALID_CONFIG).create(2)
    assert results(refused.seen(2).described(THE_TOPIC, {}), REFUSED_TRACE) == [("topic", "held"), ("topic", "held")]
    refused.described(THE_TOPIC, {"retention.ms": "5"}, on="broker-2")
    assert ("topic", "violated") in results(refused, REFUSED_TRACE)


@pytest.mark.parametrize("error", [None, TIMED_OUT, NOT_CONTROLLER])
def test_a_creation_of_open_outcome_is_no_refusal(error: int | None) -> None:
    assert says_nothing(AdministrationHistory().create(3, error=error).seen(3), REFUSED_TRACE)


REASONS = {None: NOT_ANSWERED, TIMED_OUT: ANSWERED_OPEN, NOT_CONTROLLER: ANSWERED_OPEN}


@pytest.mark.parametrize("error", REASONS)
def test_what_another_request_of_open_outcome_explains_is_excused_by_its_name(error: int | None) -> None:
    history = AdministrationHistory().create(3, error=error).create(3, error=INVALID_CONFIG).seen(3)
    assert results(history, REFUSED_TRACE) == []
    assert excuses(history, REFUSED_TRACE) == [("topic", REASONS[error], 1)]
    altered = AdministrationHistory().alter(THE_TOPIC, {"k": "2"}, error=error)
    altered.alter(THE_TOPIC, {"k": "2", "bad": "x"}, error=INVALID_CONFIG).described(THE_TOPIC, {"k": "2"})
    assert results(altered, REFUSED_TRACE) == [("configuration", "held")]  # of the key `bad`
    assert excuses(altered, REFUSED_TRACE) == [("configuration", REASONS[error], 1)]


def test_a_request_of_open_outcome_explains_only_what_it_asked_for() -> None:
    history = AdministrationHistory().create(2, error=None).create(3, error=INVALID_CONFIG).seen(3)
    assert (results(history, REFUSED_TRACE), excuses(history, REFUSED_TRACE)) == ([("topic", "violated")], [])
    asked_later = AdministrationHistory().create(3, error=INVALID_CONFIG).seen(3).create(3, error=None)
    assert results(asked_later, REFUSED_TRACE) == [("topic", "violated")]


def test_what_an_acknowledged_request_explains_needs_no_excuse() -> None:
    history = AdministrationHistory().create(3, error=INVALID_CONFIG).create(3).create(3, error=None).seen(3)
    assert says_nothing(history, REFUSED_TRACE)


# --- topics that were deleted and created again


def recreated(configs: dict[str, str] | None = None) -> AdministrationHistory:
    """A topic with two partitions and a value, deleted and created again without it, and a refused request for that value."""
    history = AdministrationHistory().create(2, {"k": "5"}, id="A").delete().create(2, configs, id="B")
    return history.create(9, {"k": "5"}, error=TOPIC_ALREADY_EXISTS)


def test_a_value_of_a_former_topic_of_the_name_explains_no_trace() -> None:
    history = recreated().seen(2, id="B").described(THE_TOPIC, {"k": "5"})
    assert ("topic", "violated") in results(history, REFUSED_TRACE)


@pytest.mark.parametrize(
    "history",
    [
        recreated().seen(2, id="A").described(THE_TOPIC, {"k": "5"}),
        recreated().seen(2, id="B", on="broker-2").described(THE_TOPIC, {"k": "5"}),
        recreated()
        .seen(2, id="B")
        .fault("inject", "broker-1")
        .fault("heal", "broker-1")
        .described(THE_TOPIC, {"k": "5"}),
        recreated({"k": "5"}).seen(2, id="B").described(THE_TOPIC, {"k": "5"}),
    ],
    ids=["the broker is behind", "another broker knows", "the broker was restarted", "the topic of today has it"],
)
def test_a_value_of_a_former_topic_is_legal_on_a_broker_that_need_not_know_of_the_next(
    history: AdministrationHistory,
) -> None:
    assert {result for _, result in results(history, REFUSED_TRACE)} == {"held"}


def test_a_value_of_a_former_topic_that_was_never_acknowledged_may_still_come() -> None:
    history = AdministrationHistory().create(2, id="A").alter(THE_TOPIC, {"k": "5"}, error=TIMED_OUT).delete()
    history.create(2, id="B").alter(THE_TOPIC, {"k": "5"}, error=INVALID_CONFIG).seen(2, id="B")
    history.described(THE_TOPIC, {"k": "5"})
    assert results(history, REFUSED_TRACE) == []
    assert excuses(history, REFUSED_TRACE) == [("configuration", ANSWERED_OPEN, 1)]


@pytest.mark.parametrize(("id", "found"), [("C", [("topic", "violated")]), ("A", [])])
def test_a_topic_that_no_creation_answered_is_a_trace_of_the_refused_one(id: str, found: list[tuple[str, str]]) -> None:
    history = AdministrationHistory().create(2, id="A").delete().create(2, error=INVALID_CONFIG).seen(2, id=id)
    assert results(history, REFUSED_TRACE) == found
    assert excuses(history, REFUSED_TRACE) == []


def test_a_topic_that_was_there_before_is_no_trace() -> None:
    known = AdministrationHistory().create(2).seen(2, id="A").create(3, error=TOPIC_ALREADY_EXISTS).seen(2, id="A")
    assert results(known, REFUSED_TRACE) == [("topic", "held")]


def test_a_topic_of_an_unanswered_creation_is_excused() -> None:
    history = AdministrationHistory().create(2, id="A").delete().create(2, error=None)
    history.create(2, error=INVALID_CONFIG).seen(2, id="C")
    assert results(history, REFUSED_TRACE) == []
    assert excuses(history, REFUSED_TRACE) == [("topic", NOT_ANSWERED, 1)]


# --- requests that a broker may have sent to the controller twice

HIT = {"controller": CONTROLLER, "asked broker": "broker-1"}


@pytest.mark.parametrize("node", HIT.values(), ids=HIT.keys())
def test_a_creation_that_found_its_own_topic_is_open_while_a_fault_may_have_cost_its_answer(node: str) -> None:
    history = AdministrationHistory().fault("inject", node).create(3, {"k": "5"}, error=TOPIC_ALREADY_EXISTS)
    history.fault("heal", node).seen(3, id="A").described(THE_TOPIC, {"k": "5"})
    assert results(history, REFUSED_TRACE) == []
    assert excuses(history, REFUSED_TRACE) == [("topic", SENT_TWICE, 2)]


@pytest.mark.parametrize(
    "history",
    [
        AdministrationHistory().create(3, error=TOPIC_ALREADY_EXISTS),
        AdministrationHistory().fault("inject", "broker-2").create(3, error=TOPIC_ALREADY_EXISTS),
        AdministrationHistory()
        .fault("inject", CONTROLLER)
        .fault("heal", CONTROLLER)
        .create(3, error=TOPIC_ALREADY_EXISTS),
        AdministrationHistory().create(3, error=TOPIC_ALREADY_EXISTS).fault("inject", CONTROLLER),
        AdministrationHistory().fault("inject", CONTROLLER).create(3, error=INVALID_REPLICATION_FACTOR),
        AdministrationHistory().create(2).fault("inject", CONTROLLER).create(3, error=TOPIC_ALREADY_EXISTS),
    ],
    ids=["no fault", "another broker", "healed before", "came later", "another error", "the topic was there"],
)
def test_else_the_refusal_is_definite(history: AdministrationHistory) -> None:
    assert results(history.seen(3, id="A"), REFUSED_TRACE) == [("topic", "violated")]
    assert excuses(history, REFUSED_TRACE) == []


def test_a_growth_that_found_its_own_partitions_is_open_too() -> None:
    history = AdministrationHistory().create(2).fault("inject", CONTROLLER).grow(5, error=INVALID_PARTITIONS).seen(5)
    assert (results(history, REFUSED_TRACE), excuses(history, REFUSED_TRACE)) == ([], [("partitions", SENT_TWICE, 1)])
    near = AdministrationHistory().create(2).fault("inject", CONTROLLER).grow(5, error=INVALID_CONFIG).seen(5)
    assert results(near, REFUSED_TRACE) == [("partitions", "violated")]


@pytest.mark.parametrize(("fault", "result"), [(True, []), (False, [("topic", "violated")])])
def test_a_deletion_that_found_no_topic_may_have_deleted_it(fault: bool, result: list[tuple[str, str]]) -> None:
    history = AdministrationHistory().create(1, {"k": "1"}).fault("inject", CONTROLLER if fault else "broker-2")
    history.delete(error=UNKNOWN_TOPIC).at_rest().described(THE_TOPIC, {}, error=UNKNOWN_TOPIC)
    assert results(history, AS_ACKNOWLEDGED) == result
    assert excuses(history, AS_ACKNOWLEDGED) == ([("topic", SENT_TWICE, 1)] if fault else [])


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


@pytest.mark.parametrize(("late", "found"), [(8.0, [("topic", "violated")]), (9.0, [])])
def test_a_wait_for_agreement_in_which_the_kit_starved_leaves_it_open(
    late: float, found: list[tuple[str, str]]
) -> None:
    history = AdministrationHistory().alter(THE_TOPIC, {"k": "1"}).in_vain(late).at_rest(met=False)
    history.described(THE_TOPIC, {})
    assert results(history, AS_ACKNOWLEDGED) == found
    assert excuses(history, AS_ACKNOWLEDGED) == ([] if found else [("topic", LOOKED_TOO_RARELY, 1)])


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


def test_a_topic_created_again_has_no_value_of_the_former_one() -> None:
    again = AdministrationHistory().create(1, {"k": "1"}).delete().create(1, {"other": "3"}).at_rest()
    honest = [("created-again", "held"), ("topic", "held")]
    assert sorted(results(again.described(THE_TOPIC, {"other": "3"}), AS_ACKNOWLEDGED)) == honest
    again.described(THE_TOPIC, {"other": "3", "k": "1"}, on="broker-2")
    assert results(again, AS_ACKNOWLEDGED).count(("created-again", "violated")) == 1
    assert acknowledged_values(again.history) == {THE_TOPIC: {"k": None, "other": "3"}}


def test_a_value_of_the_former_topic_may_be_set_again() -> None:
    again = AdministrationHistory().create(1, {"k": "1"}).delete().create(1).alter(THE_TOPIC, {"k": "1"}).at_rest()
    assert results(again.described(THE_TOPIC, {"k": "1"}), AS_ACKNOWLEDGED) == [("topic", "held")]


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
    assert excuses(history, AS_ACKNOWLEDGED) == [("topic", REASONS[error], 1)]


@pytest.mark.parametrize(
    ("value", "found", "excused"),
    [("1", [], 0), ("2", [], 1), ("3", [("topic", "violated")], 0), (None, [("topic", "violated")], 0)],
)
def test_an_open_request_explains_no_other_value_than_its_own(
    value: str | None, found: list[tuple[str, str]], excused: int
) -> None:
    history = AdministrationHistory().alter(THE_TOPIC, {"k": "2"}, error=None).alter(THE_TOPIC, {"k": "1"}).at_rest()
    history.described(THE_TOPIC, {"k": value} if value else {})
    assert results(history, AS_ACKNOWLEDGED) == found
    assert len(excuses(history, AS_ACKNOWLEDGED)) == excused


@pytest.mark.parametrize(
    ("values", "error", "found"),
    [
        ({}, UNKNOWN_TOPIC, []),
        ({"k": "1"}, 0, []),
        ({}, 0, [("topic", "violated")]),
        ({"k": "9"}, 0, [("topic", "violated")]),
    ],
)
def test_an_open_deletion_explains_that_there_is_no_topic_and_nothing_else(
    values: dict[str, str], error: int, found: list[tuple[str, str]]
) -> None:
    history = AdministrationHistory().create(1, {"k": "1"}).delete(error=TIMED_OUT).at_rest()
    assert results(history.described(THE_TOPIC, values, error=error), AS_ACKNOWLEDGED) == found


def test_an_open_creation_explains_its_own_values() -> None:
    history = (
        AdministrationHistory().create(1, {"k": "1"}).delete(error=None).create(1, {"k": "7"}, error=None).at_rest()
    )
    assert results(history.described(THE_TOPIC, {"k": "7"}), AS_ACKNOWLEDGED) == []
    assert excuses(history, AS_ACKNOWLEDGED) == [("topic", NOT_ANSWERED, 1)]
    assert results(history.described(THE_TOPIC, {"k": "8"}), AS_ACKNOWLEDGED) == [("topic", "violated")]


def test_a_topic_that_was_deleted_has_no_value() -> None:
    history = AdministrationHistory().create(1, {"k": "1"}).delete().at_rest().described(THE_TOPIC, {}, error=3)
    assert results(history, AS_ACKNOWLEDGED) == []
    again = AdministrationHistory().create(1, {"k": "1"}).delete().create(1).at_rest().described(THE_TOPIC, {})
    assert results(again, AS_ACKNOWLEDGED) == [("created-again", "held")]


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


@pytest.mark.parametrize("error", [0, TOO_LARGE])
def test_a_limit_that_an_open_request_may_have_replaced_is_not_judged(error: int) -> None:
    history = AdministrationHistory().create(1, {LIMIT: "2000"}).alter(THE_TOPIC, {LIMIT: "9000"}, error=None).at_rest()
    assert results(history.produced(5_000, error), AS_ACKNOWLEDGED) == []
    assert excuses(history, AS_ACKNOWLEDGED) == ([] if error else [("in-force", NOT_ANSWERED, 1)])
    assert results(history.produced(10_000, 0), AS_ACKNOWLEDGED) == [("in-force", "violated")]


def test_what_has_to_be_described_is_what_was_acknowledged_last() -> None:
    history = AdministrationHistory().create(1, {"a": "1", "b": "1"}).alter(THE_TOPIC, {"a": None})
    history.alter(THE_TOPIC, {"b": "2"}, error=INVALID_CONFIG)
    assert acknowledged_values(history.history) == {THE_TOPIC: {"a": None, "b": "1"}}
