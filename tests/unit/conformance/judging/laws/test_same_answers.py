"""A sweep's answers: judged item by item, together against singly and version against version, and only at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from conformance.catalogue import shipped_rows
from conformance.judging.excuses import CHANGED_MEANWHILE
from conformance.judging.facts.apis import CASES
from conformance.judging.judge import Judge, judge_history
from conformance.judging.laws.same_answers import (
    UNKNOWN,
    WRONG_BROKER,
    every_version_says_the_same,
    together_is_as_one_by_one,
)
from conformance.judging.laws.sweeps import SWEPT
from history.events import Answer, Call
from history.steps import SWEEP_NOTE, SWEPT_NOTE
from tests.support.sweeps import (
    FOLLOWS,
    HIGHEST,
    LEADS,
    NO_SUCH,
    A,
    Asked,
    Plain,
    SweepHistory,
    batch,
    fetched,
    listed,
    of,
    offsets,
    query,
    swept,
    topic,
    wanted,
)

TOGETHER, VERSIONS = together_is_as_one_by_one, every_version_says_the_same


def results(judge: Judge, history: SweepHistory) -> set[tuple[str, str]]:
    """Those about anything but Metadata, which each sweep has."""
    return {(one.case, one.result) for one in judge(history.history) if one.case != "metadata"}


def violated(judge: Judge, history: SweepHistory) -> set[str]:
    return {one.case for one in judge(history.history) if one.result == "violated"}


def excused(judge: Judge, history: SweepHistory) -> set[tuple[str, str]]:
    return {(one.case, one.excuse) for one in judge_history([judge], history.history).excuses}


GROUP = {"group_id": "g", "error_code": 0, "group_state": "Stable"}
RIGHT: dict[str, tuple[Any, Plain, Plain]] = {
    "metadata": ("a", topic(), topic(isr_nodes=[1], replica_nodes=[1])),
    "describe_topic_partitions": (
        "a",
        {**topic(eligible_leader_replicas=[], last_known_elr=[])},
        {**topic(eligible_leader_replicas=[2], last_known_elr=[])},
    ),
    "list_offsets_many": (query(LEADS), listed(LEADS), listed(LEADS, offset=6)),
    "fetch_many": (wanted(LEADS), fetched(LEADS), fetched(LEADS, high_watermark=6)),
    "offset_for_leader_epoch_many": (
        {"topic": "a", "partition": LEADS, "leader_epoch": 3, "current_leader_epoch": -1},
        of(LEADS, leader_epoch=3, end_offset=5),
        of(LEADS, leader_epoch=2, end_offset=5),
    ),
    "describe_producers_many": (
        ("a", LEADS),
        of(LEADS, active_producers=[]),
        of(LEADS, active_producers=[{"producer_id": 7, "producer_epoch": 0}]),
    ),
    "describe_configs_many": (
        {"resource_type": 2, "resource_name": "a"},
        {"resource_type": 2, "resource_name": "a", "error_code": 0, "configs": [{"name": "k", "value": "1"}]},
        {"resource_type": 2, "resource_name": "a", "error_code": 0, "configs": [{"name": "k", "value": "2"}]},
    ),
    "find_coordinator_many": (
        "g",
        {"key": "g", "error_code": 0, "node_id": 1, "host": "h", "port": 1},
        {"key": "g", "error_code": 0, "node_id": 2, "host": "h", "port": 1},
    ),
    "offset_fetch": (
        (A, LEADS),
        of(LEADS, committed_offset=5, committed_leader_epoch=3, metadata=""),
        of(LEADS, committed_offset=5, committed_leader_epoch=2, metadata=""),
    ),
    "describe_groups": ("g", {**GROUP, "members": []}, {**GROUP, "members": [{"member_id": "m"}]}),
    "consumer_group_describe_many": ("g", {**GROUP, "group_epoch": 2}, {**GROUP, "group_epoch": 1}),
}
"""By operation: an item, a right answer about it, and another one."""
OTHER: dict[str, tuple[Any, Plain]] = {
    "metadata": ("no-such", topic("no-such", 3)),
    "describe_topic_partitions": ("no-such", topic("no-such", 3)),
    "list_offsets_many": (query(0, "no-such"), listed(0, 3, about=NO_SUCH)),
    "fetch_many": (wanted(0, NO_SUCH), fetched(0, 3, about=NO_SUCH)),
    "offset_for_leader_epoch_many": ({"topic": "no-such", "partition": 0}, of(0, 3, about=NO_SUCH)),
    "describe_producers_many": (("no-such", 0), of(0, 3, about=NO_SUCH)),
    "describe_configs_many": (
        {"resource_type": 2, "resource_name": "no-such"},
        {"resource_type": 2, "resource_name": "no-such", "error_code": 3, "configs": []},
    ),
    "find_coordinator_many": ("h", {"key": "h", "error_code": 0, "node_id": 2, "host": "h", "port": 2}),
    "offset_fetch": ((NO_SUCH, 0), of(0, about=NO_SUCH, committed_offset=-1, committed_leader_epoch=-1, metadata="")),
    "describe_groups": ("h", {**GROUP, "group_id": "h", "group_state": "Dead", "members": []}),
    "consumer_group_describe_many": ("h", {"group_id": "h", "error_code": 69}),
}
"""By operation, another item of the batch with its answer."""
every_operation = pytest.mark.parametrize("op", sorted(SWEPT))


def both(op: str, version: int, part: Plain) -> Asked:
    """A batch of two items; this is the answer about the first."""
    item, _, _ = RIGHT[op]
    other, about_it = OTHER[op]
    return op, 1, version, [item, other], [part, about_it]


# --- GEN-04


@every_operation
def test_an_item_is_answered_singly_as_in_a_batch(op: str) -> None:
    item, right, wrong = RIGHT[op]
    batched = both(op, HIGHEST, right)
    assert (CASES[op], "held") in {
        (one.case, one.result) for one in TOGETHER(swept(batched, (op, 1, HIGHEST, [item], [right])).history)
    }
    assert violated(TOGETHER, swept(batched, (op, 1, HIGHEST, [item], [right]))) == set()
    broken = swept(batched, (op, 1, HIGHEST, [item], [wrong]))
    assert violated(TOGETHER, broken) == {CASES[op]}
    [finding] = [one for one in TOGETHER(broken.history) if one.result == "violated"]
    assert finding.label == "differs-in-batch"
    assert "in a batch" in finding.detail


def test_an_error_of_a_single_item_only() -> None:
    batched = offsets(8, listed(LEADS), listed(FOLLOWS, 6))
    assert violated(TOGETHER, swept(batched, offsets(8, listed(FOLLOWS, 3)))) == {"list-offsets"}
    assert violated(TOGETHER, swept(batched, offsets(8, listed(FOLLOWS, 6, offset=-1)))) == set()


def test_an_error_of_the_group_is_that_of_each_item() -> None:
    op, items = "offset_fetch", [(A, LEADS), (A, FOLLOWS)]
    history = SweepHistory().begun()
    for some in (items, items[:1], items):
        history.ask(op, 2, 9, some, [], error=16)
    assert results(TOGETHER, history.ended()) == {("offset-fetch", "held")}


def test_versions_are_not_mixed() -> None:
    batched = offsets(8, listed(LEADS), listed(FOLLOWS, 6))
    assert results(TOGETHER, swept(batched, offsets(7, listed(LEADS, offset=6)))) == set()


def test_an_item_that_changed_during_the_sweep_shows_nothing_and_others_do() -> None:
    before, after = (offsets(8, listed(LEADS, offset=end), listed(FOLLOWS, 6)) for end in (5, 6))
    history = SweepHistory().begun()
    for one in (before, offsets(8, listed(LEADS, offset=6)), offsets(8, listed(FOLLOWS, 6)), after):
        history.ask(*one)
    history.ended()
    assert results(TOGETHER, history) == {("list-offsets", "held")}
    assert excused(TOGETHER, history) == {("list-offsets", CHANGED_MEANWHILE.name)}
    steady = swept(before, offsets(8, listed(LEADS, offset=6)))
    assert (violated(TOGETHER, steady), excused(TOGETHER, steady)) == ({"list-offsets"}, set())


def test_an_item_that_changed_counts_only_where_there_are_versions_to_compare() -> None:
    _, right, other = RIGHT["describe_producers_many"]
    one_version = swept(*(both("describe_producers_many", HIGHEST, part) for part in (right, other)))
    assert excused(VERSIONS, one_version) == set()
    ends = [offsets(version, listed(LEADS, offset=end)) for version, end in ((8, 5), (7, 5), (8, 6))]
    assert excused(VERSIONS, swept(*ends)) == {("list-offsets", CHANGED_MEANWHILE.name)}


def test_what_the_byte_limit_of_a_fetch_cuts_off_is_not_missed() -> None:
    def history(limit: int, *single: Plain) -> SweepHistory:
        items = [wanted(LEADS, limit=limit), wanted(FOLLOWS, limit=limit)]
        together = [fetched(LEADS, 0, batch(0)), fetched(FOLLOWS)]
        return swept(
            ("fetch_many", 1, 12, items, together), ("fetch_many", 1, 12, items[:1], [fetched(LEADS, 0, *single)])
        )

    assert violated(TOGETHER, history(100, batch(0), batch(1))) == set()
    assert violated(TOGETHER, history(140, batch(0), batch(1))) == {"fetch"}
    assert violated(TOGETHER, history(60)) == set()
    assert violated(TOGETHER, history(100, batch(1))) == {"fetch"}


# --- GEN-05

NAMED = {"fetch_many": 12, "offset_fetch": 9, "describe_groups": 5}
"""The highest versions that name topics, and a group that does not exist, as those below do."""


@every_operation
def test_another_version_answers_alike(op: str) -> None:
    _, right, wrong = RIGHT[op]
    high, case = NAMED.get(op, HIGHEST), CASES[op]
    low = high - 1
    honest = swept(both(op, high, right), both(op, low, right))
    assert (case, "held") in {(one.case, one.result) for one in VERSIONS(honest.history)}
    assert violated(VERSIONS, honest) == set()
    broken = swept(both(op, high, right), both(op, low, wrong))
    assert case in violated(VERSIONS, broken)
    assert {one.label for one in VERSIONS(broken.history) if one.result == "violated"} == {"differs-by-version"}


def test_fields_that_one_of_the_versions_lacks_are_not_compared() -> None:
    highest = offsets(8, listed(LEADS), listed(FOLLOWS, 6))
    without = listed(LEADS, leader_epoch=-1)
    assert violated(VERSIONS, swept(highest, offsets(3, without, listed(FOLLOWS, 6)))) == set()
    assert violated(VERSIONS, swept(highest, offsets(4, without, listed(FOLLOWS, 6)))) == {"list-offsets"}
    nothing = listed(LEADS, offset=-1, leader_epoch=-1)
    assert violated(VERSIONS, swept(highest, offsets(0, nothing, listed(FOLLOWS, 6)))) == set()
    assert violated(VERSIONS, swept(highest, offsets(1, nothing, listed(FOLLOWS, 6)))) == {"list-offsets"}


def test_a_version_whose_request_holds_one_item_is_compared_all_the_same() -> None:
    op = "find_coordinator_many"
    item, right, wrong = RIGHT[op]
    honest = swept(both(op, 6, right), (op, 1, 3, [item], [right]))
    assert results(VERSIONS, honest) == {("find-coordinator", "held"), (UNKNOWN, "held")}
    assert violated(VERSIONS, swept(both(op, 6, right), (op, 1, 3, [item], [wrong]))) == {"find-coordinator"}


def test_the_wrong_broker_is_named_by_its_error_in_each_version() -> None:
    highest = offsets(8, listed(FOLLOWS, 6), listed(LEADS))
    assert results(VERSIONS, swept(highest)) == {(WRONG_BROKER, "held"), (UNKNOWN, "held")}
    assert violated(VERSIONS, swept(highest, offsets(7, listed(FOLLOWS, 3), listed(LEADS)))) == {
        "list-offsets",
        WRONG_BROKER,
    }
    served = offsets(8, listed(FOLLOWS), listed(LEADS))
    assert violated(VERSIONS, swept(served)) == {WRONG_BROKER}


def test_an_unknown_thing_is_named_by_its_error_in_each_version() -> None:
    def unknown(version: int, error: int) -> Asked:
        return offsets(version, listed(LEADS), listed(9, error))

    assert violated(VERSIONS, swept(unknown(8, 3), unknown(7, 3))) == set()
    assert violated(VERSIONS, swept(unknown(8, 3), unknown(7, 6))) == {"list-offsets", UNKNOWN}
    assert violated(VERSIONS, swept(unknown(8, 6), unknown(7, 6))) == {"list-offsets", UNKNOWN}


@pytest.mark.parametrize("op", ["offset_fetch", "describe_groups", "consumer_group_describe_many"])
def test_a_group_is_answered_by_its_coordinator_only(op: str) -> None:
    item, right, _ = RIGHT[op]
    found = both("find_coordinator_many", 6, RIGHT["find_coordinator_many"][1])

    def asked_at_another(error: int) -> SweepHistory:
        part = right if error == 0 else {**right, "error_code": error}
        one = (op, 2, 1, [item, OTHER[op][0]], [part, {**OTHER[op][1], "error_code": 16}])
        return swept(found, one, one, found)

    assert violated(VERSIONS, asked_at_another(16)) == set()
    assert violated(VERSIONS, asked_at_another(0)) == {WRONG_BROKER}
    assert violated(VERSIONS, asked_at_another(15)) == {WRONG_BROKER}
    without_protocol = set() if op.startswith("consumer") else {WRONG_BROKER}
    assert violated(VERSIONS, asked_at_another(35)) == without_protocol


def test_another_brokers_configuration_is_refused_alike() -> None:
    op, item = "describe_configs_many", {"resource_type": 4, "resource_name": "2"}

    def asked(version: int, error: int) -> Asked:
        refused = {**item, "error_code": error, "configs": []}
        return op, 1, version, [item, RIGHT[op][0]], [refused, RIGHT[op][1]]

    assert (WRONG_BROKER, "held") in results(VERSIONS, swept(asked(4, 42), asked(1, 42)))
    assert violated(VERSIONS, swept(asked(4, 42), asked(1, 0))) == {"describe-configs", WRONG_BROKER}


# --- what a KIP changed


def fetches(version: int, *parts: Plain, about: Plain = A, by_id: bool = False) -> Asked:
    names: Plain = {"topic": None, "topic_id": about["id"]} if by_id else {}
    named = [{**part, **names} for part in parts]
    return "fetch_many", 1, version, [wanted(part["partition"], about) for part in parts], named


def test_an_unknown_topic_by_name_and_by_id() -> None:
    def asked(version: int, error: int) -> Asked:
        parts = [fetched(index, error, about=NO_SUCH) for index in (0, 1)]
        return fetches(version, *parts, about=NO_SUCH, by_id=version >= 13)

    assert violated(VERSIONS, swept(asked(17, 100), asked(12, 3))) == set()
    assert violated(VERSIONS, swept(asked(17, 100), asked(13, 100))) == set()
    assert violated(VERSIONS, swept(asked(17, 100), asked(13, 3))) == {"fetch", UNKNOWN}
    assert violated(VERSIONS, swept(asked(17, 100), asked(12, 100))) == {"fetch", UNKNOWN}
    assert violated(VERSIONS, swept(asked(17, 3), asked(12, 3))) == {UNKNOWN}


def test_an_unknown_partition_has_one_error_by_name_and_by_id() -> None:
    def asked(version: int, error: int) -> Asked:
        return fetches(version, fetched(LEADS), fetched(9, error), by_id=version >= 13)

    assert violated(VERSIONS, swept(asked(17, 3), asked(12, 3))) == set()
    assert violated(VERSIONS, swept(asked(17, 100), asked(12, 3))) == {UNKNOWN}
    assert violated(VERSIONS, swept(asked(17, 3), asked(14, 100))) == {"fetch", UNKNOWN}


def test_followers_serve_consumers_from_version_11_on() -> None:
    def asked(version: int, index: int, error: int) -> Asked:
        return fetches(version, fetched(index, error), fetched(9, 3))

    assert violated(VERSIONS, swept(asked(12, FOLLOWS, 0), asked(11, FOLLOWS, 0), asked(10, FOLLOWS, 6))) == set()
    assert violated(VERSIONS, swept(asked(12, FOLLOWS, 1), asked(10, FOLLOWS, 6))) == set()
    assert violated(VERSIONS, swept(asked(12, FOLLOWS, 6), asked(11, FOLLOWS, 6), asked(10, FOLLOWS, 6))) == set()
    assert violated(VERSIONS, swept(asked(12, FOLLOWS, 0), asked(11, FOLLOWS, 6))) == {"fetch", WRONG_BROKER}
    assert violated(VERSIONS, swept(asked(12, FOLLOWS, 0), asked(10, FOLLOWS, 0))) == {"fetch", WRONG_BROKER}
    assert violated(VERSIONS, swept(asked(12, LEADS, 0), asked(10, LEADS, 6))) == {"fetch"}


@pytest.mark.parametrize("compression", ["producer", "zstd"])
@pytest.mark.parametrize("codec", [0, 4])
def test_zstd_is_refused_below_version_10(codec: int, compression: str) -> None:
    """A topic that is set to it is refused whatever its log holds."""
    op = "describe_configs_many"
    configs = [{"name": "compression.type", "value": compression}]
    settings = (op, 1, 4, [RIGHT[op][0], OTHER[op][0]], [{**RIGHT[op][1], "configs": configs}, OTHER[op][1]])

    def asked(version: int, error: int) -> Asked:
        return fetches(version, fetched(LEADS, error, *([batch(0, codec)] if not error else [])), fetched(9, 3))

    refused = {"fetch"} if (codec, compression) == (0, "producer") else set()
    assert violated(VERSIONS, swept(asked(12, 0), asked(9, 76), settings)) == refused
    assert violated(VERSIONS, swept(asked(12, 0), asked(9, 0), settings)) == set()
    assert violated(VERSIONS, swept(asked(12, 0), asked(10, 76), settings)) == {"fetch"}


@pytest.mark.parametrize("compression", ["producer", "zstd"])
def test_a_broker_that_does_not_lead_may_refuse_zstd_first(compression: str) -> None:
    op = "describe_configs_many"
    configs = [{"name": "compression.type", "value": compression}]
    settings = (op, 1, 4, [RIGHT[op][0], OTHER[op][0]], [{**RIGHT[op][1], "configs": configs}, OTHER[op][1]])

    def asked(version: int, error: int) -> Asked:
        return fetches(version, fetched(FOLLOWS, error), fetched(9, 3))

    refused = set() if compression == "zstd" else {"fetch", "wrong-broker"}
    assert violated(VERSIONS, swept(asked(12, 6), asked(9, 76), settings)) == refused
    assert violated(VERSIONS, swept(asked(12, 6), asked(10, 76), settings)) == {"fetch", "wrong-broker"}
    assert violated(VERSIONS, swept(asked(12, 6), asked(9, 6), settings)) == set()


def test_nothing_is_committed_for_an_unknown_topic_by_name() -> None:
    def asked(version: int, error: int, offset: int = -1) -> Asked:
        fields = {"committed_offset": offset, "committed_leader_epoch": -1, "metadata": ""}
        parts = [of(index, error, about=NO_SUCH, by_id=version >= 10, **fields) for index in (0, 1)]
        return "offset_fetch", 1, version, [(NO_SUCH, 0), (NO_SUCH, 1)], parts

    assert violated(VERSIONS, swept(asked(10, 100), asked(9, 0), asked(1, 0))) == set()
    assert violated(VERSIONS, swept(asked(10, 100), asked(9, 0, offset=4))) == {"offset-fetch"}
    assert violated(VERSIONS, swept(asked(10, 100), asked(9, 3))) == {"offset-fetch"}
    assert violated(VERSIONS, swept(asked(9, 3), asked(8, 0))) == {"offset-fetch"}


def test_a_group_that_does_not_exist_is_dead_below_version_6() -> None:
    def asked(version: int, error: int, name: str = "Dead", members: Sequence[Plain] = ()) -> Asked:
        groups = [{**GROUP, "group_id": one, "error_code": error, "group_state": name} for one in ("h", "i")]
        return "describe_groups", 1, version, ["h", "i"], [{**one, "members": [*members]} for one in groups]

    assert violated(VERSIONS, swept(asked(6, 69), asked(5, 0))) == set()
    assert violated(VERSIONS, swept(asked(6, 69), asked(5, 69))) == {"describe-groups"}
    assert violated(VERSIONS, swept(asked(6, 69), asked(5, 0, "Empty"))) == {"describe-groups"}
    assert violated(VERSIONS, swept(asked(6, 69), asked(5, 0, "Dead", [{"member_id": "m"}]))) == {"describe-groups"}


# --- at rest

WRONG = (offsets(8, listed(LEADS), listed(FOLLOWS, 6)), offsets(7, listed(LEADS, offset=6), listed(FOLLOWS, 6)))


def broken(history: SweepHistory) -> SweepHistory:
    for one in (*WRONG, WRONG[0]):
        history.ask(*one)
    return history


def test_a_sweep_at_rest_is_judged() -> None:
    assert violated(VERSIONS, broken(SweepHistory().begun()).ended()) == {"list-offsets"}
    earlier = broken(SweepHistory().fault("inject").fault("heal").begun()).ended()
    assert violated(VERSIONS, earlier) == {"list-offsets"}
    later = broken(SweepHistory().begun()).ended().fault("inject")
    assert violated(VERSIONS, later) == {"list-offsets"}
    second = broken(broken(SweepHistory().begun()).begun()).ended()
    assert violated(VERSIONS, second) == {"list-offsets"}


@pytest.mark.parametrize(
    "history",
    [
        broken(SweepHistory().begun()),
        broken(SweepHistory().fault("inject").begun()).ended(),
        broken(SweepHistory().begun().fault("inject")).ended(),
        broken(SweepHistory().begun()).ended(leader_epoch=4),
        broken(SweepHistory().begun()).ended(isr_nodes=[1]),
        broken(SweepHistory().note(SWEEP_NOTE).described(isr_nodes=[1])).ended(isr_nodes=[1]),
        broken(SweepHistory().note(SWEEP_NOTE).described(leader_id=-1)).ended(leader_id=-1),
        broken(SweepHistory().note(SWEEP_NOTE)).note(SWEPT_NOTE),
        broken(SweepHistory().described()).ended(),
    ],
    ids=["incomplete", "fault before", "fault during", "another epoch", "ISR shrank", "ISR not full", "no leader",
         "not described", "no sweep"],
)  # fmt: skip
def test_a_sweep_that_was_not_at_rest_shows_nothing(history: SweepHistory) -> None:
    assert [*TOGETHER(history.history), *VERSIONS(history.history)] == []


def test_a_sweep_with_another_request_in_between_shows_nothing() -> None:
    history = SweepHistory().begun()
    n = len(history.events)
    history.events.append(Call(n=n, t=0.0, op="produce", node="broker-1", request={}))
    history.events.append(Answer(n=n + 1, t=0.0, call=n, outcome="info"))
    assert [*VERSIONS(broken(history).ended().history)] == []


def test_a_request_that_was_not_answered_is_passed_over() -> None:
    history = broken(SweepHistory().begun())
    n = len(history.events)
    history.events.append(Call(n=n, t=0.0, op="list_offsets_many", node="broker-1", request={}))
    history.events.append(Answer(n=n + 1, t=0.0, call=n, outcome="info"))
    assert violated(VERSIONS, history.ended()) == {"list-offsets"}


# --- the rows


def test_the_rows_have_a_case_for_each_operation_of_a_sweep() -> None:
    apis = {CASES[op] for op in SWEPT}
    one_version = {"describe-topic-partitions", "describe-producers"}
    assert {case.id for case in shipped_rows()["GEN-04"].cases} == apis
    assert {case.id for case in shipped_rows()["GEN-05"].cases} == apis - one_version | {WRONG_BROKER, UNKNOWN}
