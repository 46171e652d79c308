"""The common part of running a check: how it ends, when it gives up, and what its lines count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.core.bench import Bench
from conformance.core.checks import Check, Claims
from conformance.running.check_run import MAX_ERRORS, MAX_FAILED_SECONDS, CheckRun, faults_of, premises_of
from fixtures.runs import Run
from history.events import AnyEvent, Example, Fault, History, Phase, Premise
from history.shards import AttemptCount, CheckLine, FaultCount, PremiseCount
from protocol.errors import KitError
from tests.support.fake_checks import RIG, ROW, check_of
from tests.support.fake_lab import FakeLab, Play, of

PHASES: tuple[Phase, ...] = ("inject", "witness", "consequence", "heal")


def history_of(*events: Callable[[int], AnyEvent]) -> History:
    opened = Example(example="e-1", check="c", column="4.3.1")
    return History(example=opened, events=[event(n) for n, event in enumerate(events)])


# --- what a line counts


@given(st.lists(st.tuples(st.sampled_from(["kill", "pause"]), st.sampled_from(PHASES))))
def test_each_phase_of_a_fault_is_counted_but_for_its_consequence(seen: list[tuple[str, Phase]]) -> None:
    def event(fault: str, phase: Phase) -> Callable[[int], AnyEvent]:
        return lambda n: Fault(n=n, t=0.0, fault=fault, phase=phase, role="leader", node="broker-1")

    counted = Counter(one for one in seen if one[1] != "consequence")
    assert faults_of(history_of(*(event(*one) for one in seen))) == {
        fault: FaultCount(
            injected=counted[fault, "inject"], witnessed=counted[fault, "witness"], healed=counted[fault, "heal"]
        )
        for fault in sorted({fault for fault, _ in counted})
    }


@given(st.lists(st.tuples(st.sampled_from(["the epoch is {}", "broker-{} leads"]), st.integers(0, 99), st.booleans())))
def test_a_premise_is_one_whatever_values_were_read_back_for_it(seen: list[tuple[str, int, bool]]) -> None:
    def event(what: str, met: bool) -> Callable[[int], AnyEvent]:
        return lambda n: Premise(n=n, t=0.0, what=what, met=met)

    found = premises_of(history_of(*(event(what.format(value), met) for what, value, met in seen)))
    counted = Counter((what, met) for what, _, met in seen)
    named = {"the epoch is {}": "the epoch is …", "broker-{} leads": "… leads"}
    assert found == {
        named[what]: PremiseCount(met=counted[what, True], unmet=counted[what, False]) for what, _, _ in seen
    }


# --- how a check ends


class Scripted(CheckRun):
    """Does what the test says in place of examples."""

    def __init__(self, lab: FakeLab, script: Callable[[CheckRun], None]) -> None:
        super().__init__(check_of(script), lab, "4.3.1")
        self._script = script

    def run_examples(self) -> None:
        self._script(self)


@contextmanager
def scripted(out: Path, script: Callable[[CheckRun], None]) -> Iterator[CheckRun]:
    with Run.begin() as run, closing(FakeLab(out, run, [[]], "smoke")) as lab:
        yield Scripted(lab, script)


def ran(out: Path, script: Callable[[CheckRun], None]) -> tuple[CheckRun, CheckLine]:
    with scripted(out, script) as one:
        one.run()
    return one, line_of(out)


def line_of(out: Path) -> CheckLine:
    [line] = of(Play(out).shard(), CheckLine)
    assert isinstance(line, CheckLine)
    return line


def failing(*seconds: float) -> Callable[[CheckRun], None]:
    """Examples in trouble that lasted so long, until the check gives up."""

    def script(one: CheckRun) -> None:
        for number, lasted in enumerate(seconds):
            if not one.gave_up:
                one.note_failure(f"trouble {number}", lasted)

    return script


@pytest.mark.parametrize(
    ("seconds", "trouble"),
    [
        ([1.0] * (MAX_ERRORS - 1), []),
        ([1.0] * (MAX_ERRORS + 2), [f"trouble {number}" for number in range(MAX_ERRORS)]),
        ([MAX_FAILED_SECONDS], []),
        ([MAX_FAILED_SECONDS, 0.1, 1.0], ["trouble 0", "trouble 1"]),
    ],
)
def test_a_check_gives_up_after_some_examples_in_trouble_or_too_long_in_it(
    tmp_path: Path, state: Path, seconds: list[float], trouble: list[str]
) -> None:
    one, line = ran(tmp_path, failing(*seconds))
    assert (one.trouble, line.outcome) == (trouble, "error" if trouble else "done")
    assert line.detail == ("\n".join(trouble) or "trouble 0"), "what ended an example is told even if the check went on"
    assert (line.check, line.rows) == (one.id, [ROW])


def test_the_line_counts_examples_by_case_and_end(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def script(one: CheckRun) -> None:
        for end, case in (("judged", "a"), ("premise lost", "a"), ("error", "a"), ("judged", "")):
            one.note_attempt(end, case)  # type: ignore[arg-type]
        monkeypatch.setattr(CheckRun, "is_over", True)
        one.note_attempt("error", "a")

    _, line = ran(tmp_path, script)
    assert line.attempts == {"a": AttemptCount(made=3, lost=1, errors=1), "": AttemptCount(made=1)}
    assert line.own_rows == [ROW]


def test_a_check_that_the_tested_system_kept_from_going_on_names_the_row(tmp_path: Path, state: Path) -> None:
    def script(one: CheckRun) -> None:
        for _ in range(MAX_ERRORS):
            one.note_hindrance("GEN-21: no answer", 1.0)

    _, line = ran(tmp_path, script)
    assert (line.outcome, line.hindrance, line.detail) == ("done", "GEN-21: no answer", "GEN-21: no answer")


def test_a_bug_of_a_check_is_told_with_its_place_and_ends_no_run(tmp_path: Path, state: Path) -> None:
    def script(one: CheckRun) -> None:
        raise ZeroDivisionError

    one, line = ran(tmp_path, script)
    assert line.outcome == "error"
    assert "ZeroDivisionError" in line.detail
    assert one.violations == []


def test_trouble_is_told_once(tmp_path: Path, state: Path) -> None:
    def script(one: CheckRun) -> None:
        one.trouble.append("no broker answers")
        raise KitError("no broker answers")

    one, line = ran(tmp_path, script)
    assert (one.trouble, line.detail) == (["no broker answers"], "no broker answers")


@pytest.mark.parametrize("ends", ["in trouble", "with an error"])
def test_what_its_own_time_cuts_short_is_cut_off_and_no_trouble(tmp_path: Path, state: Path, ends: str) -> None:
    def script(one: CheckRun) -> None:
        one.ends = 0.0
        if ends == "with an error":
            raise KitError("time was up")
        one.note_failure("time was up", 1.0)

    one, line = ran(tmp_path, script)
    assert (one.trouble, one.cut_off, line.outcome) == ([], True, "cut-off")


def test_an_interruption_passes_through_and_is_filed(tmp_path: Path, state: Path) -> None:
    def script(one: CheckRun) -> None:
        raise KeyboardInterrupt

    with scripted(tmp_path, script) as one, pytest.raises(KeyboardInterrupt):
        one.run()
    line = line_of(tmp_path)
    assert (line.outcome, line.detail) == ("error", "the run was ended: KeyboardInterrupt")


def test_no_cluster_is_booted_where_none_of_the_rows_applies(tmp_path: Path, state: Path) -> None:
    """One that was made for these rows may not come up on this release."""

    def never(bench: Bench) -> Claims:
        raise AssertionError("it was run")
        yield

    check = Check(own_rows=("KIP1251-GATE-02",), rig=RIG, cases=("answer",), examples=1, body=never)
    lab, shard, histories = Play(tmp_path)(check, [])
    assert (lab.booted, histories) == ([], [])
    assert [(line.outcome, line.examples) for line in of(shard, CheckLine)] == [("done", 0)]
