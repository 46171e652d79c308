"""The tables that people ask for, on small inputs whose answers are written out by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conformance.catalogue.former_ids import NAMES, current_id
from conformance.core.registry import every_check
from conformance.judging.verdicts import VERDICTS, Verdict
from reports.differences import better, compare
from reports.insights import (
    TABLES,
    Coverage,
    Excused,
    FaultMet,
    FaultReach,
    Firsts,
    PremiseReach,
    Spent,
    TrendPoint,
    VerdictChange,
    Wavering,
    assemble,
    encode,
)
from reports.pool.cells import SHOWN, current_check, wavering
from reports.pool.cells import observations as observed
from reports.pool.reached import coverage, excused, faults_met, premises, spent
from reports.pool.shape import schema
from reports.pool.versions import changes, columns, firsts, runs
from reports.spark import session

pytestmark = pytest.mark.spark

IN_SPARK = settings(
    deadline=None, derandomize=True, database=None, max_examples=3,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
A, B = "KIP320-FETCH-01", "KIP320-FETCH-02"
V = "4.3.1"
CELLS = "kafka_version string, requirement string, verdict string"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with session("local[1]", small=True) as started:
        yield started


def _rows(table: DataFrame, struct: type[Any]) -> list[Any]:
    """As structs, in their own order; the table has the schema of its struct."""
    own = table.select(*[field.name for field in schema(struct)])
    assert own.schema.simpleString() == schema(struct).simpleString()
    found = assemble({name: [row.asDict(recursive=True) for row in own.collect()] for name in _named(struct)}, [V])
    return list(getattr(found, _named(struct)[0]))


def _named(struct: type[Any]) -> list[str]:
    return [name for name, known in TABLES.items() if known is struct]


# Changes


def _changes(spark: SparkSession, sides: Mapping[str, Mapping[str, Verdict]], *pairs: tuple[str, str]) -> list[Any]:
    lines = [(side, row, verdict) for side, verdicts in sides.items() for row, verdict in verdicts.items()]
    cells = spark.createDataFrame(lines, "side string, requirement string, verdict string")
    found = changes(cells, spark.createDataFrame(list(pairs), "old string, new string"))
    return sorted(found.collect(), key=lambda row: (row.old, row.new, row.requirement))


def test_what_changed_between_two_columns(spark: SparkSession) -> None:
    old: dict[str, Verdict] = {
        "broke": "satisfied",
        "mended": "violated",
        "same": "recorded",
        "gone": "error",
        "sinks": "flaky",
    }
    new: dict[str, Verdict] = {
        "broke": "flaky",
        "mended": "satisfied",
        "same": "recorded",
        "new": "violated",
        "sinks": "violated",
    }
    found = _changes(spark, {"3.9.2": old, V: new, "5.0.0": new}, ("3.9.2", V))
    assert [tuple(row) for row in found] == [
        ("3.9.2", V, "broke", "changed", "satisfied", "flaky", True),
        ("3.9.2", V, "gone", "removed", "error", "", False),
        ("3.9.2", V, "mended", "changed", "violated", "satisfied", False),
        ("3.9.2", V, "new", "added", "", "violated", True),
        ("3.9.2", V, "same", "unchanged", "recorded", "recorded", False),
        ("3.9.2", V, "sinks", "changed", "flaky", "violated", True),
    ]
    assert [change.requirement for change in compare(old, new) if better(change)] == ["mended"]


COLUMN = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.sampled_from(VERDICTS))


@settings(IN_SPARK)
@given(columns=st.lists(COLUMN, min_size=6, max_size=6))
def test_changes_agree_with_plain_python_turn_around_and_are_none_beside_oneself(
    spark: SparkSession, columns: Sequence[dict[str, Verdict]]
) -> None:
    sides = {str(place): column for place, column in enumerate(columns)}
    pairs = [(old, new) for old in sides for new in sides]
    found: dict[tuple[str, str], list[VerdictChange]] = {pair: [] for pair in pairs}
    for old, new, *rest in map(tuple, _changes(spark, sides, *pairs)):
        found[old, new].append(VerdictChange(**dict(zip(VerdictChange.__struct_fields__, rest, strict=True))))
    for old, new in pairs:
        assert found[old, new] == sorted(compare(sides[old], sides[new]), key=lambda change: change.requirement)
        assert [_turned(change) for change in found[new, old]] == [_seen(change) for change in found[old, new]]
        assert not any(change.worse and better(change) for change in found[old, new])
    assert not [change for side in sides for change in found[side, side] if change.kind != "unchanged" or change.worse]


def _seen(change: VerdictChange) -> tuple[str, ...]:
    return change.requirement, change.kind, change.before, change.after


def _turned(change: VerdictChange) -> tuple[str, ...]:
    kind = {"added": "removed", "removed": "added"}.get(change.kind, change.kind)
    return change.requirement, kind, change.after, change.before


def test_each_released_version_is_compared_with_the_one_before_it(spark: SparkSession) -> None:
    verdicts = [("3.10.0", "violated"), ("3.9.2", "satisfied"), ("4.0.0", "error"), ("4.0.0@mine:1", "violated")]
    cells = spark.createDataFrame([(version, A, verdict) for version, verdict in verdicts], CELLS)
    found = changes(*columns(cells)).collect()
    assert sorted((row.old, row.new, row.worse) for row in found) == [
        ("3.10.0", "4.0.0", False),
        ("3.9.2", "3.10.0", True),
    ]


def test_each_run_of_a_column_is_compared_with_the_run_before_it(spark: SparkSession) -> None:
    verdicts = [
        ("2026-11-20", "b", V, "satisfied"), ("2026-11-19", "c", V, "violated"), ("2026-11-20", "d", V, "violated"),
        ("2026-11-20", "b", "3.9.2", "error"),
    ]  # fmt: skip
    points = [(A, version, date, run, verdict, 9, 0) for date, run, version, verdict in verdicts]
    found = changes(*runs(spark.createDataFrame(points, schema(TrendPoint))))
    assert sorted((row.old, row.new, row.before, row.after, row.worse) for row in found.collect()) == [
        (f"{V} in run b", f"{V} in run d", "satisfied", "violated", True),
        (f"{V} in run c", f"{V} in run b", "violated", "satisfied", False),
    ]


# Firsts


def _firsts(spark: SparkSession, rows: Mapping[str, Mapping[str, Verdict]]) -> list[Firsts]:
    lines = [(version, row, verdict) for row, found in rows.items() for version, verdict in found.items()]
    return _rows(firsts(spark.createDataFrame(lines, CELLS)), Firsts)


def test_first_bad_and_first_good_go_by_numbers_and_by_releases_only(spark: SparkSession) -> None:
    found = _firsts(
        spark,
        {
            "always": {"3.3.2": "violated", "4.3.1": "violated", "4.0.0": "inconclusive"},
            "mended": {"3.9.2": "violated", "3.10.0": "violated", "3.10.1": "satisfied", "3.8.1": "satisfied"},
            "broke": {"4.0.0": "satisfied", "4.0.1": "violated", "4.3.1@mine:1": "satisfied", "3.3.2": "violated"},
            "right": {"4.0.0": "satisfied", "4.0.1": "inapplicable"},
            "silent": {"4.0.0": "untested", "4.0.0@mine": "violated"},
        },
    )
    assert found == [
        Firsts(requirement="always", bad=["3.3.2", "4.3.1"], good=[], first_bad="3.3.2", last_good="", first_good=""),
        Firsts(requirement="broke", bad=["3.3.2", "4.0.1"], good=["4.0.0"], first_bad="3.3.2", last_good="", first_good=""),
        Firsts(
            requirement="mended", bad=["3.9.2", "3.10.0"], good=["3.8.1", "3.10.1"], first_bad="3.9.2", last_good="3.8.1",
            first_good="3.10.1",
        ),
        Firsts(requirement="right", bad=[], good=["4.0.0"], first_bad="", last_good="", first_good=""),
    ]  # fmt: skip


VERSIONS = [f"3.{minor}.{patch}" for minor in (3, 9, 10, 11) for patch in (0, 2, 10)]
VERSIONS += ["4.5.0-SNAPSHOT@/opt/trunk", "4.5.0-rc2", "4.5.0-rc10", "4.5.0"]
ROWS = st.dictionaries(
    st.sampled_from([f"row-{number}" for number in range(20)]),
    st.dictionaries(st.sampled_from(VERSIONS), st.sampled_from(VERDICTS), min_size=1), min_size=10,
)  # fmt: skip


@settings(IN_SPARK)
@given(rows=ROWS)
def test_firsts_follow_from_the_lists_of_bad_and_good(spark: SparkSession, rows: dict[str, dict[str, Verdict]]) -> None:
    found = {each.requirement: each for each in _firsts(spark, rows)}
    for row, verdicts in rows.items():
        bad, good = ([v for v in VERSIONS if verdicts.get(v) == verdict] for verdict in ("violated", "satisfied"))
        if not bad and not good:
            assert row not in found
            continue
        each, place = found[row], VERSIONS.index
        assert (each.bad, each.good) == (bad, good)
        assert each.first_bad == (bad[0] if bad else "")
        assert each.last_good == next((v for v in reversed(good) if bad and place(v) < place(bad[0])), "")
        assert each.first_good == next((v for v in good if bad and place(v) > place(bad[-1])), "")


# Wavering


def _observed(spark: SparkSession, *lines: Mapping[str, Any]) -> DataFrame:
    given: dict[str, Any] = {
        "type": "observation", "shard": "s", "kafka_version": V, "requirement": A, "case": "c", "check": "p",
        "result": "held", "example": "e", "inputs": '{"i":1}', "variant": "",
    }  # fmt: skip
    kept = {"label": "", "detail": "", "history": "", "evidence": ""}
    rows = [
        given | kept | {"events": [1], "lived": ["kill"], "n": number} | dict(line) for number, line in enumerate(lines)
    ]
    return observed(spark.createDataFrame(rows, ", ".join(_typed(name) for name in rows[0])), None)


def _typed(name: str) -> str:
    return f"`{name}` {({'events': 'array<long>', 'lived': 'array<string>', 'n': 'long'}).get(name, 'string')}"


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


# Checks that were renamed

FORMER = [
    *(Path(__file__).parents[1] / "support" / "recorded_ids.txt").read_text().split(),
    *(f"{module}.{name}" for module, names in NAMES.items() for name in names),
    *every_check(),
]
"""Ids of before any rename, ids of which only the module was renamed yet, and those of today."""


def test_a_check_has_the_id_of_today_in_spark_too(spark: SparkSession) -> None:
    odd = ["a", "kip101.stamps", "kip101.stamps.no_such_check", "x.kip101.stamps.y"]
    table = spark.createDataFrame([(id,) for id in [*FORMER, *odd]], "check string")
    found = table.select("check", current_check(F.col("check")).alias("today")).collect()
    assert len(found) == len(FORMER) + len(odd)
    assert {row.check: row.today for row in found if row.today != current_id(row.check)} == {}


# Coverage, premises, time


def test_coverage_counts_applicable_cases_examples_and_faults(spark: SparkSession) -> None:
    cases = "kafka_version string, requirement string, case string"
    applicable = spark.createDataFrame([(V, A, "x"), (V, A, "y"), (V, B, "z")], cases)
    seen = spark.createDataFrame([(V, A, "x"), (V, A, "unheard-of"), ("3.9.2", A, "y")], cases)
    ended = [(V, A, "judged"), (V, A, "judged"), (V, A, "premise lost")]
    examples = spark.createDataFrame(ended, "kafka_version string, requirement string, outcome string")
    faults = spark.createDataFrame(
        [(V, A, "pause", 3, 2, 1), (V, A, "kill", 1, 1, 1)],
        "kafka_version string, requirement string, fault string, injected long, witnessed long, healed long",
    )
    assert _rows(coverage(applicable, seen, examples, faults), Coverage) == [
        Coverage(
            requirement=A, kafka_version=V, examples=3, outcomes={"judged": 2, "premise lost": 1}, cases_reached=1, cases=2,
            faults={
                "kill": FaultReach(injected=1, witnessed=1, healed=1),
                "pause": FaultReach(injected=3, witnessed=2, healed=1),
            },
        ),
        Coverage(requirement=B, kafka_version=V, examples=0, outcomes={}, cases_reached=0, cases=1, faults={}),
    ]  # fmt: skip


LINES = (
    "type string, shard string, kafka_version string, `check` string, outcome string, examples long, seconds double, "
    "premises map<string,struct<met:long,unmet:long>>"
)


def test_faults_of_a_column_are_added_up_over_examples(spark: SparkSession) -> None:
    lines = [
        ("example", V, {"kill": (2, 1, 2), "pause": (1, 1, None)}),
        ("example", V, {"kill": (1, 1, 1)}),
        ("example", "3.9.2", {"kill": (1, 1, 1)}),
        ("check", V, {"kill": (9, 9, 9)}),
        ("example", V, None),
    ]
    counts = "map<string,struct<injected:long,witnessed:long,healed:long>>"
    table = spark.createDataFrame(lines, f"type string, kafka_version string, faults {counts}")
    assert _rows(faults_met(table), FaultMet) == [
        FaultMet(kafka_version=V, fault="kill", examples=2, injected=3, witnessed=2, healed=3),
        FaultMet(kafka_version=V, fault="pause", examples=1, injected=1, witnessed=1, healed=0),
        FaultMet(kafka_version="3.9.2", fault="kill", examples=1, injected=1, witnessed=1, healed=1),
    ]


def test_premises_are_added_up_and_one_that_was_never_met_is_reported(spark: SparkSession) -> None:
    lines = [
        ("example", "s", V, "p", "judged", None, 1.0, {"bumped": (2, 1), "truncated": (0, 4)}),
        ("example", "t", V, "p", "judged", None, 1.0, {"bumped": (1, None)}),
        ("check", "s", V, "p", "done", 2, 1.0, None),
    ]
    assert _rows(premises(spark.createDataFrame(lines, LINES)), PremiseReach) == [
        PremiseReach(kafka_version=V, check="p", premise="bumped", met=3, unmet=1),
        PremiseReach(kafka_version=V, check="p", premise="truncated", met=0, unmet=4),
    ]


def test_excuses_are_added_up_beside_what_was_decided(spark: SparkSession) -> None:
    lines = [
        ("example", "s", V, "p", [(A, "x", "open", 2), (A, "x", "late", 1)]),
        ("example", "t", V, "p", [(A, "x", "open", 3), (B, "y", "open", 1)]),
        ("example", "t", V, "q", [(A, "x", "open", 1)]),
        ("example", "u", V, "p", None),
        ("check", "s", V, "p", None),
    ]
    counts = "array<struct<requirement:string,`case`:string,excuse:string,times:long>>"
    table = spark.createDataFrame(
        lines, f"type string, shard string, kafka_version string, `check` string, excuses {counts}"
    )
    decided = [(V, A, "p", "x", "held", 4), (V, A, "p", "x", "violated", 1), (V, A, "r", "x", "held", 9)]
    alike = spark.createDataFrame(
        decided, "kafka_version string, requirement string, `check` string, `case` string, result string, times long"
    )
    first = Excused(
        requirement=A, kafka_version=V, check="p", case="x", held=4, violated=1, excused={"late": 1, "open": 5}
    )
    second = Excused(requirement=A, kafka_version=V, check="q", case="x", held=0, violated=0, excused={"open": 1})
    third = Excused(requirement=B, kafka_version=V, check="p", case="y", held=0, violated=0, excused={"open": 1})
    assert _rows(excused(table, alike, None), Excused) == [first, second, third]
    changed = spark.createDataFrame([("t", A)], "shard string, requirement string")
    assert [one.excused for one in _rows(excused(table, alike, changed), Excused)] == [
        {"late": 1, "open": 2},
        {"open": 1},
    ]


def test_time_is_that_of_checks_and_of_the_examples_of_one_that_was_cut_short(spark: SparkSession) -> None:
    lines = [
        ("example", "s", V, "p", "judged", None, 0.5, None),
        ("check", "s", V, "p", "done", 5, 10.25, None),
        ("check", "t", V, "p", "cut-off", 2, 1.5, None),
        ("example", "u", V, "p", "judged", None, 0.125, None),
        ("example", "u", V, "p", "judged", None, 0.125, None),
        ("check", "s", V, "q", "error", None, None, None),
    ]
    assert _rows(spent(spark.createDataFrame(lines, LINES)), Spent) == [
        Spent(kafka_version=V, check="p", examples=9, seconds=12.0, outcomes={"cut-off": 1, "done": 1, "unended": 1}),
        Spent(kafka_version=V, check="q", examples=0, seconds=0.0, outcomes={"error": 1}),
    ]


def test_insights_are_in_the_order_of_columns_whatever_order_their_rows_came_in() -> None:
    rows: list[dict[str, Any]] = [
        {"kafka_version": v, "check": c, "examples": 1, "seconds": 1.0, "outcomes": {}}
        for v in ("3.9.2", "3.10.0")
        for c in "ab"
    ]
    one, other = (assemble({"spent": found}, ["3.9.2", "3.10.0"]) for found in (rows, rows[::-1]))
    assert encode(one) == encode(other)
    assert [(each.kafka_version, each.check) for each in one.spent] == [
        ("3.9.2", "a"),
        ("3.9.2", "b"),
        ("3.10.0", "a"),
        ("3.10.0", "b"),
    ]
