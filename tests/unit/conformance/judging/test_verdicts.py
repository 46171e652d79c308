"""The verdict of a cell: what it takes to be satisfied, and what nothing makes up for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.catalogue import Requirement, shipped_rows
from conformance.catalogue.floors import FLOORS, Floor, by_situation, floor_of, kind_of, shaping
from conformance.catalogue.rows import RECORDED as RECORDED_LEVELS
from conformance.core.registry import checks_by_row
from conformance.judging import patch_releases
from conformance.judging.excuses import INAPPLICABLE, NOT_LED
from conformance.judging.pooling import judge_shards, verdict_lines
from conformance.judging.verdicts import (
    CHANGED_SINCE,
    CaseTally,
    Cell,
    CellEvidence,
    Judgement,
    is_troubled,
    judge_cell,
    why_below_floor,
)
from history.shards import AnyShardLine, AttemptCount, ExcuseCount, Footer, ObservationLine, Shard, read_shard
from tests.support.declared import facts_of
from tests.support.sample_shards import ShardBuilder, write_lines

FACTS = facts_of("4.3.1")
APPLICABLE = [row for row in shipped_rows() if row.applicable_cases(FACTS)]
JUDGED = [row for row in APPLICABLE if row.level not in RECORDED_LEVELS]
ELSEWHERE = next(row for row in shipped_rows() if not row.applicable_cases(FACTS))
ROW = shipped_rows()["KIP320-FETCH-02"]
PROPERTY = shipped_rows()["KIP101-INV-05"]
SCENARIO = next(row for row in JUDGED if row.kind == "scenario")
RECORDED = msgspec.structs.replace(ROW, level="informational")


def test_a_row_may_have_a_floor_of_its_own() -> None:
    law = shipped_rows()["GEN-05"]
    assert floor_of(law) == msgspec.structs.replace(FLOORS["property"], observations=5, changed=0)
    assert floor_of(PROPERTY) == FLOORS["property"]
    assert floor_of(msgspec.structs.replace(ROW, inputs=1)) == msgspec.structs.replace(FLOORS["probe"], inputs=1)
    short = at_floor(law, "fetch", situations=4)
    assert "4 distinct situations in 5 observations, the floor is 5" in why_below_floor(law, "fetch", short)
    assert not why_below_floor(law, "fetch", at_floor(law, "fetch"))


def at_floor(row: Requirement, case: str = "", **changed: Any) -> CaseTally:
    """Exactly what a case of the row needs."""
    floor = floor_of(row, case)
    exact = CaseTally(
        held=floor.observations,
        inputs=floor.inputs,
        examples=floor.examples,
        situations=floor.observations if by_situation(row, case) else 0,
        changed=floor.changed,
    )
    return msgspec.structs.replace(exact, **changed)


def evidence(row: Requirement, **changed: Any) -> CellEvidence:
    """One check that ran and brought each applicable case to its floor."""
    cases = {case.id: at_floor(row, case.id) for case in row.applicable_cases(FACTS)}
    return msgspec.structs.replace(CellEvidence(cases=cases, checks=1, ran=1), **changed)


def judged(row: Requirement, **changed: Any) -> Judgement:
    return judge_cell(row, FACTS, evidence(row, **changed))


def one_case(row: Requirement, **changed: Any) -> dict[str, CaseTally]:
    """The evidence of a row in which its first case is changed."""
    cases = evidence(row).cases
    first = row.applicable_cases(FACTS)[0].id
    return {**cases, first: msgspec.structs.replace(cases[first], **changed)}


def test_calm_observations_fill_the_floor_of_a_probe_only() -> None:
    calm = CaseTally(held=60, inputs=3, examples=9, situations=29, calm=31, calm_examples=2, changed=10)
    case = PROPERTY.cases[0].id
    short = "29 distinct situations in 60 observations (31 calm ones do not count), the floor is 30"
    assert why_below_floor(PROPERTY, case, calm) == f"case {case}: {short}"
    assert not why_below_floor(PROPERTY, case, msgspec.structs.replace(calm, calm=30, situations=30))
    few = msgspec.structs.replace(calm, calm=30, situations=30, calm_examples=5)
    assert why_below_floor(PROPERTY, case, few) == f"case {case}: 4 examples, the floor is 5"
    assert not why_below_floor(ROW, "consumer", msgspec.structs.replace(calm, calm=60, calm_examples=9))
    assert "1 observations (1 calm ones do not count)" in why_below_floor(
        SCENARIO, SCENARIO.cases[0].id, CaseTally(held=2, inputs=2, examples=2, calm=1, calm_examples=1)
    )


PROPERTIES = [
    (row, case.id) for row in JUDGED for case in row.applicable_cases(FACTS) if kind_of(row, case.id) == "property"
]


@pytest.mark.parametrize(("row", "case"), PROPERTIES)
def test_a_property_with_a_thousand_calm_observations_is_inconclusive_and_says_so(row: Requirement, case: str) -> None:
    calm = CaseTally(held=1000, inputs=1000, examples=1000, changed=1000, calm=1000, calm_examples=1000)
    judgement = judged(row, cases={**evidence(row).cases, case: calm})
    floor = floor_of(row, case).observations
    short = f"0 distinct situations in 1000 observations (1000 calm ones do not count), the floor is {floor}"
    assert (judgement.verdict, judgement.reason) == ("inconclusive", f"case {case}: {short}")


# --- precedence


def test_each_verdict_outranks_the_ones_below_it() -> None:
    """Trouble is added from the bottom to the top; each time the worst is told."""
    short, wavering, broken = (
        one_case(ROW, **changed) for changed in ({"held": 0}, {"wavering": True}, {"violated": 1})
    )
    assert judged(ROW).verdict == "satisfied"
    assert judged(ROW, cases=short).verdict == "inconclusive"
    assert judged(ROW, cases=short, errors=1).verdict == "error"
    assert judged(ROW, cases=wavering, errors=1).verdict == "flaky"
    both = one_case(ROW, wavering=True, violated=1)
    assert judged(ROW, cases=both, errors=1).verdict == "violated"
    assert judged(ROW, cases=broken, ran=0, lost="shard s has no footer").verdict == "violated"


def test_a_row_that_does_not_apply_is_inapplicable_whatever_ran() -> None:
    assert judge_cell(ELSEWHERE, FACTS, CellEvidence(checks=1, ran=1, errors=1)).verdict == "inapplicable"


def test_a_row_without_a_check_is_untested_and_one_whose_checks_were_not_run_is_not_run() -> None:
    assert judged(ROW, checks=0, ran=0, cases={}).verdict == "untested"
    assert judged(ROW, ran=0, cases={}).verdict == "not-run"
    assert judged(ROW, cases={}).verdict == "inconclusive"


def test_a_changed_row_counts_as_not_run() -> None:
    judgement = judged(ROW, changed=True)
    assert (judgement.verdict, judgement.reason) == ("not-run", CHANGED_SINCE)


def test_nothing_is_satisfied_where_lines_are_lost() -> None:
    judgement = judged(ROW, lost="shard s has no footer")
    assert judgement.verdict == "inconclusive"
    assert "shard s has no footer" in judgement.reason


def test_an_informational_row_is_recorded_never_judged() -> None:
    cases = {"consumer": CaseTally(recorded=1, inputs=1, examples=1)}
    assert judge_cell(RECORDED, FACTS, CellEvidence(cases=cases, checks=1, ran=1)).verdict == "recorded"
    broken = {"consumer": CaseTally(violated=1)}
    assert judge_cell(RECORDED, FACTS, CellEvidence(cases=broken, checks=1, ran=1)).verdict == "recorded"
    assert judge_cell(RECORDED, FACTS, CellEvidence(checks=1, ran=1)).verdict == "inconclusive"


LATER = shipped_rows()["KIP595-END-02-L"]


def recorded_cases(kept: int, of: int) -> dict[str, CaseTally]:
    return {"version-0": CaseTally(recorded=of, kept=kept, inputs=1, examples=of)}


@pytest.mark.parametrize(("kept", "value"), [(3, "keeps"), (2, "does not keep"), (0, "does not keep")])
def test_a_later_row_is_recorded_with_its_value(kept: int, value: str) -> None:
    judgement = judge_cell(LATER, FACTS, CellEvidence(cases=recorded_cases(kept, 3), checks=1, ran=1))
    assert (judgement.verdict, judgement.value) == ("recorded", value)
    assert f"kept in {kept} of 3" in judgement.reason


def test_a_later_row_is_never_red_nor_flaky() -> None:
    cases = {"version-0": CaseTally(recorded=2, kept=1, violated=1, wavering=True)}
    assert judge_cell(LATER, FACTS, CellEvidence(cases=cases, checks=1, ran=1)).verdict == "recorded"
    nothing = judge_cell(LATER, FACTS, CellEvidence(checks=1, ran=1))
    assert (nothing.verdict, nothing.value) == ("inconclusive", "")


def test_a_violation_filed_under_a_case_that_does_not_apply_still_counts() -> None:
    cases = {**evidence(ROW).cases, "no-such-case": CaseTally(violated=1)}
    assert judged(ROW, cases=cases).verdict == "violated"


# --- floors


@pytest.mark.parametrize(
    ("row", "observations", "inputs", "examples", "changed"),
    [(ROW, 5, 3, 1, 0), (PROPERTY, 30, 1, 5, 10), (SCENARIO, 2, 1, 2, 0)],
    ids=["probe", "property", "scenario"],
)
def test_the_floors_are_those_of_the_design(
    row: Requirement, observations: int, inputs: int, examples: int, changed: int
) -> None:
    assert floor_of(row) == Floor(observations=observations, inputs=inputs, examples=examples, changed=changed)


def test_a_row_with_one_input_asks_for_one() -> None:
    single = msgspec.structs.replace(ROW, inputs=1)
    assert why_below_floor(single, "consumer", CaseTally(held=5, inputs=1, examples=1)) == ""
    assert "2 distinct inputs, the floor is 3" in why_below_floor(
        ROW, "consumer", CaseTally(held=5, inputs=2, examples=5)
    )


def test_the_reason_names_each_case_that_is_short() -> None:
    reason = judged(ROW, cases={}).reason
    assert all(f"case {case.id}: 0 observations, the floor is 5" in reason for case in ROW.applicable_cases(FACTS))


rows = st.sampled_from(JUDGED)


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row.id)
def test_a_row_at_its_floor_is_satisfied_but_not_if_any_case_is_missing(row: Requirement) -> None:
    """Every case counts: without it, or without anything that its floor asks for, the verdict changes."""
    cases = evidence(row).cases
    assert judged(row).verdict == "satisfied"
    for case, exact in cases.items():
        short = [
            msgspec.structs.replace(exact, **{field: getattr(exact, field) - 1})
            for field in ("situations" if by_situation(row, case) else "held", "inputs", "examples", "changed")
            if getattr(exact, field)
        ]
        left = {other: tally for other, tally in cases.items() if other != case}
        for fewer in (left, *({**left, case: tally} for tally in short)):
            assert judged(row, cases=fewer).verdict == "inconclusive"


def test_rows_about_a_change_need_observations_that_lived_through_one() -> None:
    calm = {
        case: msgspec.structs.replace(tally, held=99, changed=9) for case, tally in evidence(PROPERTY).cases.items()
    }
    judgement = judged(PROPERTY, cases=calm)
    assert judgement.verdict == "inconclusive"
    assert "9 situations after a change, the floor is 10" in judgement.reason
    assert floor_of(shipped_rows()["KIP101-INV-09"], "log").changed == 0
    assert {row.kind for row in shipped_rows() if row.changes} == {"property"}


def test_incidental_inputs_do_not_count() -> None:
    row = shipped_rows()["KIP1251-COMMIT-05"]
    assert shaping('{"bumps":1,"offset":7}', row.incidental) == '{"bumps":1}'
    assert shaping("", row.incidental) == ""
    assert shaping('{"offset":7}', []) == '{"offset":7}'
    assert floor_of(shipped_rows()["KIP1251-COMMIT-12"], "unknown-id").inputs == 1
    assert floor_of(shipped_rows()["KIP1251-COMMIT-12"], "by-name").inputs == 3


@settings(deadline=None)
@given(
    row=rows,
    violated=st.integers(1, 9),
    trouble=st.fixed_dictionaries({"errors": st.integers(0, 2), "ran": st.integers(0, 2), "lost": st.sampled_from(["", "x"])}),
    others=st.integers(0, 99),
    wavering=st.booleans(),
)  # fmt: skip
def test_a_violation_shows_whatever_else_there_is(
    row: Requirement, violated: int, trouble: dict[str, Any], others: int, wavering: bool
) -> None:
    cases = one_case(row, violated=violated, held=others, wavering=wavering)
    assert judged(row, cases=cases, **trouble).verdict == "violated"


# --- what excuses weigh


LEFT_OUT = {NOT_LED.name: 3}
WEIGHED: dict[str, tuple[dict[str, Any], str]] = {
    "as much excused as held": ({"excused": {"open": 2, "late": 3}}, ""),
    "more excused than held": (
        {"excused": {"open": 2, "late": 4}},
        "case consumer: 6 excused (late 4, open 2), and 5 held",
    ),
    "more left out than held": (
        {"left_out": {NOT_LED.name: 6}},
        f"case consumer: 6 left out ({NOT_LED.name} 6), and 5 held",
    ),
    "more outside the row than held": ({"outside": {INAPPLICABLE.name: 6}}, ""),
    "more of both than held": (
        {"excused": {"open": 3}, "left_out": LEFT_OUT},
        f"case consumer: 3 excused (open 3), 3 left out ({NOT_LED.name} 3), and 5 held",
    ),
    "half of the tries without their premise": ({"attempts": 10, "lost": 5}, ""),
    "most tries without their premise": (
        {"attempts": 11, "lost": 6},
        "case consumer: 6 of 11 tries lost their premise",
    ),
}


@pytest.mark.parametrize(("changed", "reason"), WEIGHED.values(), ids=WEIGHED.keys())
def test_a_case_decides_nothing_if_more_was_left_undecided_than_held(changed: dict[str, Any], reason: str) -> None:
    judgement = judged(ROW, cases=one_case(ROW, **changed))
    assert (judgement.verdict, judgement.reason) == ("inconclusive" if reason else "satisfied", reason)
    assert judged(ROW, cases=one_case(ROW, **changed, violated=1)).verdict == "violated"
    assert judged(ROW, cases=one_case(ROW, **changed), errors=1).verdict == "error"


def test_what_is_only_recorded_is_not_weighed() -> None:
    cases = {"consumer": CaseTally(recorded=1, inputs=1, examples=1, excused={"open": 9})}
    assert judge_cell(RECORDED, FACTS, CellEvidence(cases=cases, checks=1, ran=1)).verdict == "recorded"


@pytest.mark.parametrize(("lost", "verdict"), [(5, "satisfied"), (6, "inconclusive")])
def test_tries_for_no_case_weigh_on_the_whole_row(lost: int, verdict: str) -> None:
    judgement = judged(ROW, attempts={"a.probe": AttemptCount(made=10, lost=lost), "b.probe": AttemptCount(made=9)})
    reason = f"a.probe: {lost} of 10 tries lost their premise" if verdict == "inconclusive" else ""
    assert (judgement.verdict, judgement.reason) == (verdict, reason)


def test_a_cell_below_its_floor_names_the_row_that_kept_its_checks_from_going_on() -> None:
    hindrance = "GEN-10: node-1 ended by itself with exit code 1"
    short = judged(ROW, cases=one_case(ROW, held=0), hindrance=hindrance)
    assert short.reason.endswith(f"; the tested system kept its checks from going on: {hindrance}")
    assert judged(ROW, hindrance=hindrance).verdict == "satisfied"


@pytest.mark.parametrize(
    ("made", "errors", "troubled"), [(10, 1, True), (11, 1, False), (21, 2, False), (20, 2, True), (0, 0, False)]
)
def test_a_tenth_of_a_checks_examples_in_trouble_is_too_much(made: int, errors: int, troubled: bool) -> None:
    assert is_troubled(AttemptCount(made=made, errors=errors)) is troubled


def attempts(**cases: tuple[int, int, int]) -> dict[str, AttemptCount]:
    return {name.strip("_"): AttemptCount(made=made, lost=lost, errors=e) for name, (made, lost, e) in cases.items()}


def test_attempts_are_pooled_over_checks_and_workers(tmp_path: Path) -> None:
    """Each worker alone has lost too much of the case, or has had too much trouble; together they have not."""
    one, two = (ShardBuilder(name, **FULL).satisfy(ROW) for name in ("s1", "s2"))
    one.end_check(ROW.id, own_rows=[ROW.id], attempts=attempts(consumer=(3, 2, 0), hint=(5, 0, 1)))
    two.end_check(ROW.id, own_rows=[ROW.id], attempts=attempts(consumer=(7, 1, 0)))
    alone = cells(read(tmp_path, one.finish()))["4.3.1", ROW.id]
    assert (alone.verdict, alone.cases["consumer"].attempts, alone.cases["consumer"].lost) == ("error", 3, 2)
    [(check, count)] = cells(read(tmp_path, one, two.finish()))["4.3.1", ROW.id].attempts.items()
    assert (check, count) == (f"check-{ROW.id}", AttemptCount(made=15, lost=3, errors=1))
    both = cells(read(tmp_path, one, two))["4.3.1", ROW.id]
    assert (both.verdict, both.cases["consumer"].lost) == ("satisfied", 3)


def test_a_lost_premise_does_not_weigh_on_rows_at_which_a_check_only_aims(tmp_path: Path) -> None:
    lost = attempts(_=(4, 4, 0))
    own = ShardBuilder("s1", **FULL).satisfy(ROW).end_check(ROW.id, own_rows=[ROW.id], attempts=lost)
    aims = ShardBuilder("s2", "4.3.0", **FULL).satisfy(ROW).end_check(ROW.id, own_rows=[], attempts=lost)
    found = cells(read(tmp_path, own.finish(), aims.finish()))
    assert found["4.3.1", ROW.id].reason == f"check-{ROW.id}: 4 of 4 tries lost their premise"
    assert (found["4.3.0", ROW.id].verdict, found["4.3.0", ROW.id].attempts) == ("satisfied", {})


def test_excuses_and_left_outs_are_counted_by_name_also_where_nothing_was_observed(tmp_path: Path) -> None:
    counts = [
        ("open", "kept", 4),
        ("open", "kept", 3),
        (NOT_LED.name, "kept", 2),
        (INAPPLICABLE.name, "kept", 5),
        ("late", "readable", 1),
    ]
    named = [ExcuseCount(requirement=PROPERTY.id, case=case, excuse=name, times=n) for name, case, n in counts]
    shard = ShardBuilder("s1", **FULL).example(PROPERTY.id, named[:2]).example(PROPERTY.id, named[2:])
    tallies = cells(read(tmp_path, shard.finish()))["4.3.1", PROPERTY.id].cases
    assert (tallies["kept"].excused, tallies["kept"].left_out) == ({"open": 7}, {NOT_LED.name: 2})
    assert tallies["kept"].outside == {INAPPLICABLE.name: 5}
    assert (tallies["readable"].excused, tallies["readable"].observations) == ({"late": 1}, 0)


# --- from shards to cells


CHECKS = {id: [f"check-{id}"] for id in (ROW.id, PROPERTY.id, SCENARIO.id)}
FULL: dict[str, Any] = {"ranges": FACTS.ranges, "checks": CHECKS}


def sample() -> ShardBuilder:
    """One satisfied probe, one broken scenario, one property below its floor."""
    shard = ShardBuilder("s1", **FULL).satisfy(ROW)
    shard.observe(SCENARIO.id, SCENARIO.cases[0].id, "violated", 1).end_check(SCENARIO.id)
    return shard.observe(PROPERTY.id, "kept", count=29).end_check(PROPERTY.id).finish()


def as_shard(lines: list[AnyShardLine]) -> Shard:
    return Shard(path="piece", header=None, lines=lines, torn=0)


def read(folder: Path, *shards: ShardBuilder) -> list[Shard]:
    return [read_shard(shard.write(folder)) for shard in shards]


def cells(shards: list[Shard], run: str = "") -> dict[tuple[str, str], Cell]:
    return {(cell.kafka_version, cell.requirement): cell for cell in judge_shards(shards, run)}


def verdicts(shards: list[Shard], run: str = "") -> dict[str, str]:
    return {requirement: cell.verdict for (_, requirement), cell in cells(shards, run).items()}


def test_every_row_has_one_cell_in_every_column(tmp_path: Path) -> None:
    older = ShardBuilder("s2", "3.9.2", ranges=facts_of("3.9.2").ranges).finish()
    judged_cells = judge_shards(read(tmp_path, sample(), older))
    assert (
        len(judged_cells)
        == 2 * len(shipped_rows())
        == len({(cell.kafka_version, cell.requirement) for cell in judged_cells})
    )


def test_the_sample_is_judged_row_by_row(tmp_path: Path) -> None:
    found = verdicts(read(tmp_path, sample()))
    assert {id: found[id] for id in CHECKS} == {
        ROW.id: "satisfied",
        SCENARIO.id: "violated",
        PROPERTY.id: "inconclusive",
    }
    assert {found[id] for id in found.keys() - CHECKS.keys() - {patch_releases.ROW}} == {"untested", "inapplicable"}


def test_a_row_for_which_the_kit_has_no_check_is_untested(tmp_path: Path) -> None:
    found = verdicts(read(tmp_path, ShardBuilder("s1", ranges=FACTS.ranges, checks=checks_by_row()).finish()))
    applicable = {row.id for row in APPLICABLE}
    assert {id for id, verdict in found.items() if verdict == "untested"} == applicable - checks_by_row().keys()
    assert {id for id, verdict in found.items() if verdict == "not-run"} == applicable & checks_by_row().keys()


def test_a_check_that_was_cut_off_before_its_first_example_did_not_run(tmp_path: Path) -> None:
    before = ShardBuilder("s1", **FULL).end_check(ROW.id, "cut-off", examples=0).finish()
    after = ShardBuilder("s2", "4.3.0", **FULL).end_check(ROW.id, "cut-off", examples=2).finish()
    found = cells(read(tmp_path, before, after))
    assert found["4.3.1", ROW.id].verdict == "not-run"
    assert found["4.3.0", ROW.id].verdict == "inconclusive"


def test_trouble_of_one_check_is_not_made_up_for_by_another(tmp_path: Path) -> None:
    shard = ShardBuilder("s1", ranges=FACTS.ranges, checks={ROW.id: ["a", "b"]}).satisfy(ROW)
    found = verdicts(read(tmp_path, shard.end_check(ROW.id, "error", detail="no boot").finish()))
    assert found[ROW.id] == "error"


def test_identical_tries_with_different_answers_are_flaky(tmp_path: Path) -> None:
    wavers = ShardBuilder("s1", **FULL).satisfy(ROW).observe(ROW.id, "consumer", count=1, variant="A", inputs="{}")
    differs = ShardBuilder("s2", "4.3.0", **FULL).satisfy(ROW).observe(ROW.id, "consumer", count=2, variant="A")
    wavers.observe(ROW.id, "consumer", count=1, variant="B", inputs="{}").finish()
    found = cells(read(tmp_path, wavers, differs.finish()))
    assert found["4.3.1", ROW.id].verdict == "flaky"
    assert found["4.3.0", ROW.id].verdict == "satisfied"


def test_an_example_is_calm_if_all_its_observations_of_the_case_are(tmp_path: Path) -> None:
    shard = ShardBuilder("s1", **FULL).observe(PROPERTY.id, "kept", count=7, calm=True)
    shard.observe(PROPERTY.id, "kept", count=5).observe(PROPERTY.id, "kept", "violated", count=1, calm=True)
    cell = cells(read(tmp_path, shard.finish()))["4.3.1", PROPERTY.id]
    tally = cell.cases["kept"]
    assert (tally.held, tally.calm, tally.examples, tally.calm_examples) == (12, 7, 7, 2)
    assert cell.verdict == "violated"


def test_a_thousand_reads_of_one_situation_are_one_and_two_changes_make_two_more(tmp_path: Path) -> None:
    shard = ShardBuilder("s1", **FULL).observe(PROPERTY.id, "kept", count=1000, example="e1", situation="before")
    for changes in (["kill"], ["kill", "stop"]):
        after = f"after {changes}"
        shard.observe(PROPERTY.id, "kept", count=50, example="e1", situation=after, lived=changes)
    tally = cells(read(tmp_path, shard.finish()))["4.3.1", PROPERTY.id].cases["kept"]
    assert (tally.held, tally.situations, tally.changed, tally.examples) == (1100, 3, 2, 1)
    short = "3 distinct situations in 1100 observations, the floor is 30"
    assert why_below_floor(PROPERTY, "kept", tally) == f"case kept: {short}"


def test_other_runs_do_not_count(tmp_path: Path) -> None:
    ours = ShardBuilder("r1-a", **FULL).satisfy(ROW).finish()
    theirs = ShardBuilder("r2-a", run="r2", **FULL).observe(ROW.id, "consumer", "violated", 1).finish()
    assert verdicts(read(tmp_path, ours, theirs), run="r1")[ROW.id] == "satisfied"
    assert verdicts(read(tmp_path, ours, theirs))[ROW.id] == "violated"


@pytest.mark.parametrize("missing", ["footer", "a line in between", "header of another shard"])
def test_nothing_is_satisfied_beside_a_gap(tmp_path: Path, missing: str) -> None:
    whole = sample().text()
    cut = {"footer": whole[:-1], "a line in between": whole[:-4] + whole[-3:], "header of another shard": whole}[
        missing
    ]
    beside = ShardBuilder("s2", **FULL).observe(ROW.id, "consumer", count=1).text()[1:]
    others = [read_shard(write_lines(tmp_path / "b", beside))] if missing == "header of another shard" else []
    found = verdicts([read_shard(write_lines(tmp_path / "a", cut)), *others])
    assert (found[ROW.id], found[SCENARIO.id]) == ("inconclusive", "violated")


def test_nothing_is_satisfied_beside_a_file_that_lost_all_that_it_held(tmp_path: Path) -> None:
    good, *_ = read(tmp_path, ShardBuilder("s1", **FULL).satisfy(ROW).finish())
    header = ShardBuilder("s2", **FULL).text()[0]
    for left in (b"", header[:5], header[:30], header[:-9]):
        beside = read_shard(write_lines(tmp_path / "cut.jsonl", [left]))
        assert verdicts([good, beside])[ROW.id] == "inconclusive"
        assert verdicts([good, beside], run="r1")[ROW.id] == "satisfied"
    assert verdicts([good])[ROW.id] == "satisfied"


def test_nothing_is_satisfied_in_a_shard_that_contradicts_its_footer() -> None:
    lines = ShardBuilder("s1", **FULL).satisfy(ROW).lines
    footer = Footer(shard="s1", n=len(lines), counts={"observation": 1})
    again = msgspec.structs.replace(lines[-1], n=len(lines) + 1)
    renumbered = [*lines[:5], *(msgspec.structs.replace(line, n=line.n - 1) for line in lines[6:])]
    kept = sum(isinstance(line, ObservationLine) for line in lines)
    ended = Footer(shard="s1", n=len(renumbered), counts={"observation": kept})
    for broken in ([*lines, footer], [*lines[:-1], footer, again], [*renumbered, ended]):
        assert verdicts([as_shard(broken)])[ROW.id] == "inconclusive"
    whole = Footer(shard="s1", n=len(lines), counts={"observation": kept})
    assert verdicts([as_shard([*lines, whole])])[ROW.id] == "satisfied"


def test_two_headers_under_one_shard_make_it_unfit() -> None:
    lines = sample().lines[:-1]
    other = msgspec.structs.replace(lines[0], n=len(lines))
    assert verdicts([as_shard([*lines, other])]) == {}


def test_a_killed_worker_leaves_its_violations(tmp_path: Path) -> None:
    """No line says that the check ended, yet it ran: it observed something."""
    shard = ShardBuilder("s1", **FULL).observe(ROW.id, "consumer", count=1)
    assert verdicts(read(tmp_path, shard))[ROW.id] == "inconclusive"
    assert verdicts(read(tmp_path, shard.observe(ROW.id, "consumer", "violated", 1)))[ROW.id] == "violated"


def test_two_lines_under_one_number_make_a_shard_unfit(tmp_path: Path) -> None:
    lines = sample().lines
    twin = next(line for line in lines if isinstance(line, ObservationLine))
    forged = msgspec.structs.replace(twin, inputs="{}")
    assert verdicts([as_shard([*lines, forged])]) == {}


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_order_splitting_and_repeating_change_nothing(data: st.DataObject) -> None:
    lines = sample().lines
    shuffled = data.draw(st.permutations(lines))
    again = data.draw(st.lists(st.sampled_from(lines), max_size=20))
    cut = data.draw(st.integers(0, len(lines)))
    pieces = [as_shard(shuffled[:cut]), as_shard(shuffled[cut:] + again), as_shard(again)]
    assert judge_shards(data.draw(st.permutations(pieces))) == judge_shards([as_shard(lines)])


def test_a_column_declares_the_highest_level_of_its_shards(tmp_path: Path) -> None:
    """A worker whose cluster never came up declares nothing; the order in which shards are met does not matter."""
    levels: list[dict[str, int]] = [{}, {"Fetch": 18}, {"Fetch": 8}]
    pieces = read(tmp_path, *(ShardBuilder(f"s{n}", ranges=ranges).finish() for n, ranges in enumerate(levels)))
    assert verdicts(pieces[2:])["KIP320-FETCH-01"] == "inapplicable"
    assert verdicts(pieces)["KIP320-FETCH-01"] == verdicts(pieces[::-1])["KIP320-FETCH-01"] == "untested"


def test_rows_that_changed_since_are_not_run(tmp_path: Path) -> None:
    before = {row.id: row.hash for row in shipped_rows()} | {ROW.id: "another"}
    shard = ShardBuilder("s1", rows=before, **FULL).satisfy(ROW).observe(ROW.id, "consumer", "violated").finish()
    assert cells(read(tmp_path, shard))["4.3.1", ROW.id].verdict == "not-run"
    today = ShardBuilder("s2", **FULL).satisfy(ROW).finish()
    assert cells(read(tmp_path, shard, today))["4.3.1", ROW.id].verdict == "satisfied"


def test_the_summary_counts_verdicts_and_names_what_wants_a_look(tmp_path: Path) -> None:
    counted, *named = verdict_lines(judge_shards(read(tmp_path, sample())))
    assert counted.startswith("4.3.1: 1 violated, 1 inconclusive, 1 satisfied, ")
    assert len(named) == 1
    assert SCENARIO.id in named[0]
