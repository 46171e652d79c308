"""The tables that people ask for, on small inputs whose answers are written out by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from conformance.catalogue.deviations import Deviation
from conformance.judging.excuses import INAPPLICABLE
from history.shards import AttemptCount
from reports import tables
from reports.insights import (
    TABLES,
    Coverage,
    Excused,
    FaultMet,
    FaultReach,
    PremiseReach,
    Spent,
    Wavering,
    assemble_insights,
    encode_insights,
)
from reports.pool.cells import SHOWN, distinct_violations, wavering
from reports.pool.cells import observations as observed
from reports.pool.counts import sum_lines
from reports.pool.shape import spark_schema
from reports.spark import spark_session
from reports.sql import table_of_texts
from tests.support.sample_matrix import known_deviation

pytestmark = pytest.mark.spark

A, B = "KIP320-FETCH-01", "KIP320-FETCH-02"
V = "4.3.1"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[1]", small=True) as started:
        yield started


def _rows(table: DataFrame, struct: type[Any]) -> list[Any]:
    """The rows of a table as structs, in their own order; the table has the schema of its struct."""
    own = table.select(*[field.name for field in spark_schema(struct)])
    assert own.schema.simpleString() == spark_schema(struct).simpleString()
    found = assemble_insights(
        {name: [row.asDict(recursive=True) for row in own.collect()] for name in _named(struct)}, [V]
    )
    return list(getattr(found, _named(struct)[0]))


def _named(struct: type[Any]) -> list[str]:
    return [name for name, known in TABLES.items() if known is struct]


def test_a_table_of_texts_has_them_as_they_are_and_takes_no_job(spark: SparkSession) -> None:
    given = [("it's", "a \\ b"), ("${env:HOME}", "$"), ("4.3.1@é\n", "")]
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    table = table_of_texts(spark, given, "shard", "kafka_version")
    assert sorted(map(tuple, table.collect())) == sorted(given)
    assert set(tracker.getJobIdsForGroup()) == before


# Ways in which a cell is broken


def test_violations_are_told_apart_as_far_as_entries_do(spark: SparkSession) -> None:
    broken = {"result": "violated", "detail": "was refused"}
    lines: list[dict[str, Any]] = [
        {**broken, "deeds": ["kill leader"]},
        {**broken, "deeds": ["kill leader"], "example": "f"},
        {**broken, "detail": "was granted", "deeds": ["stop leader"]},
        {**broken, "requirement": B},
        {"requirement": B, "deeds": ["kill leader"]},
    ]

    def ways_of(*entries: Deviation) -> list[tuple[str, str, list[str]]]:
        found = distinct_violations(_observed(spark, *lines), entries).orderBy("requirement", "place").collect()
        return [(row["requirement"], row["detail"], row["deeds"]) for row in found]

    assert ways_of() == []
    assert ways_of(known_deviation(A)) == [(A, "", [])]
    assert ways_of(known_deviation(A, says=("x",))) == [(A, "was granted", []), (A, "was refused", [])]
    assert ways_of(known_deviation(A, takes=(("x",),)), known_deviation(B)) == [
        (A, "", ["kill leader"]),
        (A, "", ["stop leader"]),
        (B, "", []),
    ]


# Wavering


def _observed(spark: SparkSession, *lines: Mapping[str, Any]) -> DataFrame:
    given: dict[str, Any] = {
        "type": "observation", "shard": "s", "kafka_version": V, "requirement": A, "case": "c", "check": "p",
        "result": "held", "example": "e", "inputs": '{"i":1}', "variant": "",
    }  # fmt: skip
    kept = {"label": "", "detail": "", "situation": "", "history": "", "evidence": ""}
    rows = [
        given | kept | {"events": [1], "deeds": [], "lived": ["kill"], "calm": False, "n": number} | dict(line)
        for number, line in enumerate(lines)
    ]
    return observed(spark.createDataFrame(rows, ", ".join(_typed(name) for name in rows[0])), None)


def _typed(name: str) -> str:
    kinds = {
        "events": "array<long>",
        "deeds": "array<string>",
        "lived": "array<string>",
        "calm": "boolean",
        "n": "long",
    }
    return f"`{name}` {kinds.get(name, 'string')}"


def test_identical_tries_that_differ_are_told_with_their_answers(spark: SparkSession) -> None:
    answered = [{"example": f"e{number}", "variant": "NONE" if number < 4 else "EPOCH"} for number in range(6)]
    steady = [{"example": f"e{number}", "inputs": '{"i":2}', "variant": "NONE"} for number in range(6)]
    found = _rows(wavering(_observed(spark, *answered, *steady)), Wavering)
    assert found == [
        Wavering(
            requirement=A, kafka_version=V, check="p", case="c", inputs='{"i":1}', tries=6, violated=0,
            answers={"NONE": 4, "EPOCH": 2},
        )
    ]  # fmt: skip


def test_a_row_broken_only_at_times_wavers_and_one_broken_in_each_try_does_not(spark: SparkSession) -> None:
    at_times = [{"example": f"e{number}", "result": "violated" if number == 2 else "held"} for number in range(3)]
    # Each try asks twice, and is right once: that is no wavering.
    each_time = [
        {"requirement": B, "example": f"e{n}", "result": result} for n in range(3) for result in ("held", "violated")
    ]
    schedules = [
        {"case": "m", "inputs": "", "example": f"e{n}", "result": r} for n, r in enumerate(["held", "violated"])
    ]
    found = _rows(wavering(_observed(spark, *at_times, *each_time, *schedules)), Wavering)
    assert [(each.requirement, each.case, each.tries, each.violated, each.answers) for each in found] == [
        (A, "c", 3, 1, {})
    ]


def test_wavering_inputs_of_a_cell_are_bounded(spark: SparkSession) -> None:
    lines = [
        {"inputs": f'{{"i":{number}}}', "example": f"e{number}-{answer}", "variant": answer}
        for number in range(SHOWN + 3)
        for answer in ("x", "y")
    ]
    often = [{"inputs": '{"z":9}', "example": f"e{number}", "variant": str(number % 2)} for number in range(3)]
    found = _rows(wavering(_observed(spark, *lines, *often)), Wavering)
    assert len(found) == SHOWN
    assert '{"z":9}' in {each.inputs for each in found}


# Examples, checks and replays

LINES = (
    "type string, shard string, kafka_version string, requirement string, `check` string, outcome string, rows string, "
    "examples long, seconds double, detail string, evidence string, seen long, tries long, "
    "faults map<string,struct<injected:long,witnessed:long,healed:long>>, premises map<string,struct<met:long,unmet:long>>, "
    "excuses array<struct<requirement:string,`case`:string,excuse:string,times:long>>, own_rows array<string>, "
    "attempts map<string,struct<made:long,lost:long,errors:long>>, hindrance string"
)


def _sums(spark: SparkSession, *lines: Mapping[str, Any], changed: Sequence[tuple[str, str]] = ()) -> tables.Sums:
    """Sums over lines of shard s, column V and check p unless they say otherwise; `changed` are shards with outdated rows."""
    given = {"shard": "s", "kafka_version": V, "check": "p", "rows": "[]"}
    table = spark.createDataFrame([given | dict(line) for line in lines], LINES)
    outdated = spark.createDataFrame(list(changed), "shard string, requirement string") if changed else None
    return tables.by_entry([row.asDict() for row in sum_lines(table, outdated).collect()])


def _example(rows: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "example", "outcome": "judged", "rows": json.dumps(rows), **fields}


def test_coverage_counts_applicable_cases_examples_and_faults(spark: SparkSession) -> None:
    seen = [_of(*cell, case=case, examples=1) for *cell, case in ((V, A, "x"), (V, A, "unheard-of"), ("3.9.2", A, "y"))]
    seen.append(_of(V, A, case="y", examples=0))
    sums = _sums(
        spark,
        _example([A, A], faults={"pause": (2, 1, 1)}),
        _example([A], faults={"pause": (1, 1, None), "kill": (1, 1, 1)}),
        _example([A], outcome="premise lost"),
        _example([B], kafka_version="3.9.2", faults={"kill": (1, 1, 1)}),
    )
    assert tables.coverage([(V, A, "x"), (V, A, "y"), (V, B, "z")], seen, sums) == [
        Coverage(
            requirement=A, kafka_version=V, examples=3, outcomes={"judged": 2, "premise lost": 1}, cases_reached=1, cases=2,
            faults={
                "kill": FaultReach(injected=1, witnessed=1, healed=1),
                "pause": FaultReach(injected=3, witnessed=2, healed=1),
            },
        ),
        Coverage(requirement=B, kafka_version=V, examples=0, outcomes={}, cases_reached=0, cases=1, faults={}),
    ]  # fmt: skip
    assert tables.faults(sums)[-2:] == [
        _of(V, A, fault="kill", injected=1, witnessed=1, healed=1),
        _of(V, A, fault="pause", injected=3, witnessed=2, healed=1),
    ]


def _of(version: str, row: str, **fields: Any) -> dict[str, Any]:
    return {"kafka_version": version, "requirement": row, **fields}


def test_rows_that_were_changed_since_tell_nothing(spark: SparkSession) -> None:
    lines = [
        _example([A, B], faults={"kill": (1, 1, 1)}),
        {"type": "replay", "requirement": A, "evidence": "e", "seen": 1, "tries": 1},
    ]
    sums = _sums(spark, *lines, changed=[("s", A), ("t", B)])
    assert [row["requirement"] for row in tables.faults(sums)] == [B]
    assert tables.replays(sums) == []
    assert [one.examples for one in tables.faults_met(sums)] == [1]


def test_replays_are_added_up_and_their_evidence_comes_first(spark: SparkSession) -> None:
    replay = {"type": "replay", "requirement": A}
    sums = _sums(
        spark,
        {**replay, "evidence": "evidence/b", "seen": 2, "tries": 3},
        {**replay, "evidence": "evidence/b", "seen": 0, "tries": 1},
        {**replay, "evidence": "", "seen": 1, "tries": 1},
    )
    assert tables.replays(sums) == [_of(V, A, seen=3, tries=5)]
    observed = [_of(V, A, paths=[{"rank": 0, "path": "evidence/a"}, {"rank": 1, "path": "histories/a"}])]
    paths = [(row["place"], row["path"]) for row in tables.paths(observed, sums, 9)]
    assert paths == [(0, "evidence/a"), (1, "evidence/b"), (2, "histories/a")]
    assert len(tables.paths(observed, sums, 2)) == 2


def test_checks_that_ran_and_those_that_ended_in_trouble(spark: SparkSession) -> None:
    ended = {"type": "check", "rows": json.dumps([A])}
    sums = _sums(
        spark,
        {**ended, "outcome": "done", "examples": 5},
        {**ended, "check": "q", "outcome": "error", "detail": "no engine"},
        {**ended, "check": "r", "outcome": "error", "detail": "a full disk"},
        {**ended, "check": "t", "outcome": "cut-off", "examples": 0, "detail": "its time was up"},
        {**ended, "check": "u", "outcome": "cut-off", "examples": 2},
    )
    killed = [_of(V, A, check="k"), _of(V, B, check="k")]
    assert tables.checks(sums, killed) == [
        _of(V, A, ran=5, errors=2, trouble="a full disk", attempts={}, hindrance=""),
        _of(V, B, ran=1, errors=0, trouble=None, attempts={}, hindrance=""),
    ]


def test_attempts_are_added_up_by_check_and_case_and_weigh_on_own_rows(spark: SparkSession) -> None:
    ended = {"type": "check", "rows": json.dumps([A, B]), "outcome": "done", "own_rows": [A], "detail": "no engine"}
    sums = _sums(
        spark,
        {**ended, "attempts": {"x": (5, 3, 1), "y": (2, 0, 0)}, "hindrance": "GEN-10: node-1 ended"},
        {**ended, "shard": "t", "attempts": {"x": (4, 1, 0)}},
        {**ended, "check": "q", "attempts": {"": (9, 9, 0)}, "own_rows": None},
        changed=[("t", B)],
    )
    own, aims = tables.checks(sums, [])
    assert own["attempts"] == {
        ("p", "x"): AttemptCount(made=9, lost=4, errors=1),
        ("p", "y"): AttemptCount(made=2),
        ("q", ""): AttemptCount(made=9),
    }
    assert aims["attempts"] == {("p", ""): AttemptCount(made=7, errors=1), ("q", ""): AttemptCount(made=9)}
    assert (own["errors"], aims["errors"], own["trouble"]) == (0, 1, "no engine")
    assert own["hindrance"] == aims["hindrance"] == "GEN-10: node-1 ended"


def test_a_case_that_was_only_excused_has_a_tally_too(spark: SparkSession) -> None:
    sums = _sums(spark, _example(excuses=[(A, "x", "open", 2), (A, "x", INAPPLICABLE.name, 3)]))
    [found] = tables.cases([], [], [], sums)
    assert (found["held"], found["examples"], found["excused"], found["outside"]) == (
        0, 0, {"open": 2}, {INAPPLICABLE.name: 3},
    )  # fmt: skip


def test_faults_of_a_column_are_added_up_over_examples(spark: SparkSession) -> None:
    sums = _sums(
        spark,
        _example([A, B], faults={"kill": (2, 1, 2), "pause": (1, 1, None)}),
        _example(faults={"kill": (1, 1, 1)}),
        _example(kafka_version="3.9.2", faults={"kill": (1, 1, 1)}),
        {"type": "check", "faults": {"kill": (9, 9, 9)}},
        _example(faults=None),
    )
    assert tables.faults_met(sums) == [
        FaultMet(kafka_version="3.9.2", fault="kill", examples=1, injected=1, witnessed=1, healed=1),
        FaultMet(kafka_version=V, fault="kill", examples=2, injected=3, witnessed=2, healed=3),
        FaultMet(kafka_version=V, fault="pause", examples=1, injected=1, witnessed=1, healed=0),
    ]


def test_premises_are_added_up_and_one_that_was_never_met_is_reported(spark: SparkSession) -> None:
    sums = _sums(
        spark,
        _example(premises={"bumped": (2, 1), "truncated": (0, 4)}),
        _example(shard="t", premises={"bumped": (1, None)}),
        {"type": "check", "outcome": "done"},
    )
    assert tables.premises(sums) == [
        PremiseReach(kafka_version=V, check="p", premise="bumped", met=3, unmet=1),
        PremiseReach(kafka_version=V, check="p", premise="truncated", met=0, unmet=4),
    ]


def test_excuses_are_added_up_beside_what_was_decided(spark: SparkSession) -> None:
    lines = [
        _example(excuses=[(A, "x", "open", 2), (A, "x", "late", 1)]),
        _example(shard="t", excuses=[(A, "x", "open", 3), (B, "y", "open", 1)]),
        _example(shard="t", check="q", excuses=[(A, "x", "open", 1)]),
        _example(shard="u"),
    ]
    decided = [
        _of(V, A, check="p", case="x", held=4, violated=1),
        _of(V, A, check="r", case="x", held=9, violated=0),
    ]
    first = Excused(
        requirement=A, kafka_version=V, check="p", case="x", held=4, violated=1, excused={"late": 1, "open": 5}
    )
    second = Excused(requirement=A, kafka_version=V, check="q", case="x", held=0, violated=0, excused={"open": 1})
    third = Excused(requirement=B, kafka_version=V, check="p", case="y", held=0, violated=0, excused={"open": 1})
    assert tables.excused_cases(_sums(spark, *lines), decided) == [first, second, third]
    changed = _sums(spark, *lines, changed=[("t", A)])
    assert [one.excused for one in tables.excused_cases(changed, decided)] == [{"late": 1, "open": 2}, {"open": 1}]


def test_time_is_that_of_checks_and_of_the_examples_of_one_that_was_cut_short(spark: SparkSession) -> None:
    sums = _sums(
        spark,
        _example(seconds=0.5),
        {"type": "check", "outcome": "done", "examples": 5, "seconds": 10.25},
        {"type": "check", "shard": "t", "outcome": "cut-off", "examples": 2, "seconds": 1.5},
        _example(shard="u", seconds=0.125),
        _example(shard="u", seconds=0.125),
        {"type": "check", "check": "q", "outcome": "error"},
    )
    assert tables.spent_by_check(sums) == [
        Spent(kafka_version=V, check="p", examples=9, seconds=12.0, outcomes={"cut-off": 1, "done": 1, "unended": 1}),
        Spent(kafka_version=V, check="q", examples=0, seconds=0.0, outcomes={"error": 1}),
    ]


def test_counts_of_a_case_are_added_up_over_its_checks() -> None:
    counts = {"held": 2, "violated": 1, "recorded": 0, "kept": 0, "calm": 0}
    decided = [_of(V, A, case="x", check=check, **counts) for check in "pq"]
    distinct = [_of(V, A, case="x", inputs=3, examples=4, situations=3, changed=2)]
    (found,) = tables.cases(decided, distinct, [_of(V, A, case="x")], {})
    sums = {
        "held": 4,
        "violated": 2,
        "recorded": 0,
        "kept": 0,
        "changed": 2,
        "calm": 0,
        "calm_examples": 0,
        "situations": 3,
    }
    none: dict[str, Any] = {"excused": {}, "left_out": {}, "outside": {}, "attempts": 0, "lost": 0}
    assert found == _of(V, A, case="x", inputs=3, examples=4, wavering=True, **sums, **none)
    assert not tables.cases(decided, distinct, [_of(V, B, case="x")], {})[0]["wavering"]


def test_insights_are_in_the_order_of_columns_whatever_order_their_rows_came_in() -> None:
    rows: list[dict[str, Any]] = [
        {"kafka_version": v, "check": c, "examples": 1, "seconds": 1.0, "outcomes": {}}
        for v in ("3.9.2", "3.10.0")
        for c in "ab"
    ]
    one, other = (assemble_insights({"spent": found}, ["3.9.2", "3.10.0"]) for found in (rows, rows[::-1]))
    assert encode_insights(one) == encode_insights(other)
    assert [(each.kafka_version, each.check) for each in one.spent] == [
        ("3.9.2", "a"),
        ("3.9.2", "b"),
        ("3.10.0", "a"),
        ("3.10.0", "b"),
    ]
