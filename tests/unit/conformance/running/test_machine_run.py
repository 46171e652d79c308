"""Running a machine in a lab in memory: judged while it runs, shrunk, replayed, and its evidence never lost."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.catalogue.deviations import Deviation
from conformance.judging.excuses import NOT_ANSWERED
from conformance.judging.judge import Excuse, Finding, judge, judge_all
from conformance.running import lab as lab_module
from conformance.running.evidence.folder import Schedule
from conformance.running.machine.beginning import Beginning
from conformance.running.machine.example import SUSPICION_NOTE
from conformance.running.machine.explorer import BATCH
from conformance.running.machine.run import MachineRun
from conformance.running.planning.budget import SHRINKING
from conformance.running.replay import ReplayRun, read_schedule
from conformance.running.violations import Breach
from fixtures.runs import Run
from history.events import Answer, Call, History, Note
from history.shards import (
    CheckLine,
    ExampleLine,
    ExcuseCount,
    ObservationLine,
    PremiseCount,
    ReplayLine,
    Shard,
    read_shard,
)
from history.steps import REST_NOTE, steps_about, steps_taken, steps_with
from history.store import read_histories
from protocol.errors import KitError
from tests.support.fake_lab import COLUMN, FakeLab, FakeWatch, JudgedMachine, Play, of
from tests.support.talking_machine import (
    CASES,
    OTHER,
    ROW,
    SHARED,
    Executor,
    Jolt,
    Say,
    heard,
    machine_of,
    never,
    words,
)


@pytest.fixture
def play(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    monkeypatch.setattr(Executor, "rests", 0)
    return Play(tmp_path)


def run_of(play: Play) -> MachineRun:
    assert isinstance(play.run, MachineRun)
    return play.run


def folder_of(play: Play, shard: Shard, row: str) -> Path:
    """The evidence that the replays of a row name."""
    [line] = [line for line in of(shard, ReplayLine) if line.requirement == row]
    return run_of(play).lab.settings.out_dir / str(line.evidence)


def schedule_in(folder: Path) -> list[dict[str, Any]]:
    return [*json.loads((folder / "schedule.json").read_text())["steps"]]


# --- judged while it runs


def test_an_example_stops_at_a_suspicion_and_goes_to_rest(play: Play) -> None:
    _, shard, histories = play(machine_of(words("a", "b", "c", "d"), never(ROW, "a", "b")), [[]])
    first = histories[0]
    assert [word for _, _, word in heard(first)] == ["a", "b", "rest"]
    notes = [event.text for event in first.events if isinstance(event, Note)]
    assert notes == ["step", "step", SUSPICION_NOTE, REST_NOTE]
    assert [step.step["word"] for step in steps_taken(first)] == ["a", "b"]
    assert of(shard, ObservationLine)[0].result == "violated"


def test_a_suspicion_that_the_whole_history_explains_is_no_violation(play: Play) -> None:
    @judge(ROW)
    def unless_rest_comes(history: History) -> Iterator[Finding]:
        observed = [word for _, _, word in heard(history)]
        yield Finding("rest" in observed or "b" not in observed, "consumer", (0,), "b without a rest")

    _, shard, histories = play(machine_of(words("a", "b", "c"), unless_rest_comes), [[]])
    assert [word for _, _, word in heard(histories[0])] == ["a", "b", "rest"]
    assert (of(shard, ObservationLine)[0].result, run_of(play).violations) == ("held", [])
    assert of(shard, ExampleLine)[0].detail.startswith(
        "suspected after step 2, and explained by what came then: " + ROW
    )
    assert of(shard, ReplayLine) == []


def test_topics_of_an_example_are_deleted_after_it(play: Play) -> None:
    lab, _, histories = play(machine_of(words("a"), never(ROW, "z")), [[]])
    assert lab.watches[0].deleted == [f"-{history.example.example}-" for history in histories]


def test_a_cluster_whose_topics_stay_is_replaced(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(watch: FakeWatch, infixes: Collection[str]) -> list[str]:
        raise KitError("topics could not be deleted")

    monkeypatch.setattr(FakeWatch, "delete_topics", refuses)
    _, shard, _ = play(machine_of(words("a"), never(ROW, "z")), [[]])
    assert "topics of examples stay: topics could not be deleted" in of(shard, CheckLine)[0].detail


def test_a_machine_gives_up_when_most_of_its_examples_end_in_trouble(play: Play) -> None:
    play(machine_of(words("a"), never(ROW, "z")), [[]])
    run = run_of(play)

    def gives_up(errors: int, examples: int) -> bool:
        run._errors, run._seconds_in_trouble, run._examples = ["trouble"] * errors, 1_000.0 * errors, examples
        return run.gave_up

    assert [gives_up(1, 1), gives_up(3, 3), gives_up(3, 7)] == [False, True, False]


def test_what_was_seen_before_trouble_is_filed(play: Play) -> None:
    _, shard, _ = play(machine_of(words("a", "trouble", "b"), never(ROW, "a")), [[]])
    assert of(shard, ObservationLine)[0].result == "violated"


def test_the_history_is_judged_again_as_it_was(play: Play) -> None:
    check = machine_of(words("a", "b", "c"), never(ROW, "b"))
    _, shard, histories = play(check, [[]])
    for history in histories:
        observed = [line.result for line in of(shard, ObservationLine) if line.example == history.example.example]
        assert [o.result for o in judge_all(play.lab.judges, history)] == observed


def test_what_a_judge_left_undecided_is_counted_in_the_line_of_the_example(play: Play) -> None:
    @judge(ROW)
    def undecided(history: History) -> Iterator[Finding | Excuse]:
        for _, _, word in heard(history):
            yield Excuse(NOT_ANSWERED, "consumer") if word == "b" else Finding(True, "consumer", (0,))

    _, shard, histories = play(machine_of(words("b", "a", "b"), undecided), [[]])
    [line, *_] = of(shard, ExampleLine)
    assert line.excuses == [ExcuseCount(requirement=ROW, case="consumer", excuse=NOT_ANSWERED.name, times=2)]
    assert {o.result for o in of(shard, ObservationLine)} == {"held"}
    assert [word for _, _, word in heard(histories[0])] == ["b", "a", "b", "rest"]


def test_a_judge_that_raises_loses_no_observation_of_others_nor_its_violations(play: Play) -> None:
    @judge(OTHER)
    def broken(history: History) -> Iterator[Finding]:
        yield Finding(False, CASES[OTHER], (0,), "seen before the bug")
        yield Finding(True, CASES[OTHER], (0,))
        raise ZeroDivisionError

    check = machine_of(words("a"), broken, never(ROW, "a"), never(SHARED, "z"))
    _, shard, histories = play(check, [[]])
    first = histories[0].example.example
    seen = {(o.requirement, o.result) for o in of(shard, ObservationLine) if o.example == first}
    assert seen == {(OTHER, "violated"), (ROW, "violated"), (SHARED, "held")}
    [line] = of(shard, CheckLine)
    assert line.outcome == "error"
    assert f"{OTHER} could not be judged" in line.detail
    assert "ZeroDivisionError" in line.detail


def test_a_row_whose_judge_raises_is_in_trouble_whatever_its_check(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    @judge("GEN-12")
    def broken(history: History) -> Iterator[Finding]:
        if history.events:
            raise ZeroDivisionError
        yield Finding(True, "errors", ())

    monkeypatch.setattr("tests.support.fake_lab.JUDGES", (broken,))
    _, shard, _ = play(machine_of(words("a"), never(ROW, "z")), [[]])
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.rows) == ("error", [ROW, "GEN-12"])
    assert {o.result for o in of(shard, ObservationLine)} == {"held"}


# --- shrunk and replayed


def long(*needed: str, on: str = "strict-0") -> list[Any]:
    """Thirty steps: chatter about three partitions, faults, and in between what is needed."""
    chatter = [Say(word=f"w{n}", on=("strict-0", "loose-0")[n % 2], times=3) for n in range(18)]
    steps = [*chatter, *(Jolt() for _ in range(12 - len(needed)))]
    for place, word in enumerate(needed):
        steps.insert(5 * (place + 1), Say(word=word, on=on, times=2))
    return steps


def test_a_long_schedule_becomes_short_and_simple(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    _, shard, _ = play(machine_of(long("a", "b", "c"), never(ROW, "a", "b", "c")), [[]])
    [line] = of(shard, ReplayLine)
    assert (line.requirement, line.seen, line.tries) == (ROW, 5, 5)
    folder = folder_of(play, shard, ROW)
    assert schedule_in(folder) == [{"do": "say", "word": w, "on": "strict-0", "times": 1} for w in "abc"]
    report = (folder / "report.md").read_text()
    assert "Seen again: 5 of 5 replays. 16 steps shrunk to 3 in " in report
    assert "\n2. say, word b, on strict-0, times 1\n" in report
    assert "**Step 2: say, word b, on strict-0, times 1**" in (folder / "course.md").read_text()
    assert f"{ROW} consumer heard: 16 steps shrunk to 3 in" in capsys.readouterr().out


def test_the_evidence_of_the_long_one_names_the_short_one(play: Play) -> None:
    _, shard, _ = play(machine_of(long("a", "b"), never(ROW, "a", "b")), [[]])
    first = of(shard, ObservationLine)[0].evidence
    short = folder_of(play, shard, ROW)
    assert (short.parent.parent.parent / first) != short
    report = (short.parent.parent.parent / first / "report.md").read_text()
    assert f"Seen again: Shrunk: a shorter schedule is in `evidence/{ROW}/{short.name}`." in report


def test_tries_of_the_shrinker_are_not_read_out(play: Play) -> None:
    """A violation seen mid-run needs no quiescence to be seen again: the first run and the replays have one."""
    play(machine_of(long("a", "b"), never(ROW, "a", "b")), [[]])
    assert Executor.rests == 6


def test_what_shows_only_at_rest_is_tried_with_one(play: Play) -> None:
    _, shard, histories = play(machine_of(long("a"), never(ROW, "a", "rest")), [[]])
    assert Executor.rests == len(histories)
    assert [step["word"] for step in schedule_in(folder_of(play, shard, ROW))] == ["a"]


def test_trouble_while_shrinking_does_not_end_the_check(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has shown nothing, so the candidate is not taken."""
    first = iter([True, True])
    monkeypatch.setattr(Executor, "frail", staticmethod(lambda: not next(first, False)))
    check = machine_of([*words("a"), Jolt(), *words("b"), Jolt(), *words("c")], never(ROW, "a", "c"))
    _, shard, _ = play(check, [[]])
    assert of(shard, CheckLine)[0].outcome == "done"
    assert [step["word"] for step in schedule_in(folder_of(play, shard, ROW))] == ["a", "c"]


def test_several_rows_share_what_shows_them_all(play: Play) -> None:
    check = machine_of(long("a", "b"), never(ROW, "a", "b"), never(SHARED, "b"))
    _, shard, _ = play(check, [[]])
    assert {line.requirement: (line.seen, line.tries) for line in of(shard, ReplayLine)} == {
        ROW: (5, 5),
        SHARED: (5, 5),
    }
    names = {folder_of(play, shard, row).name for row in (ROW, SHARED)}
    assert len(names) == 1
    assert (folder_of(play, shard, SHARED) / "report.md").read_text().startswith(f"# {SHARED}: ")


def test_a_row_that_the_short_schedule_does_not_break_gets_its_own(play: Play) -> None:
    check = machine_of(long("a", "b", "c"), never(OTHER, "b", "c", "rest"), never(ROW, "a", "c"))
    _, shard, _ = play(check, [[]])
    assert [(line.requirement, line.seen) for line in of(shard, ReplayLine)] == [(ROW, 5), (OTHER, 5)]
    observed = {row: [step["word"] for step in schedule_in(folder_of(play, shard, row))] for row in (OTHER, ROW)}
    assert observed == {OTHER: ["b", "c"], ROW: ["a", "c"]}


def test_without_time_the_report_says_so(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHRINKING, "smoke", 0.0)
    _, shard, _ = play(machine_of(long("a"), never(ROW, "a")), [[]])
    first = of(shard, ObservationLine)[0].evidence
    assert of(shard, ReplayLine) == []
    assert "Seen again: Not shrunk: " in (run_of(play).lab.settings.out_dir / first / "report.md").read_text()


def test_what_is_not_seen_again_is_not_lost(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first example is a proof, whatever comes later: 0 of 5, its evidence stays, and the schedule is kept beside it."""
    answers = iter([False] * 6)
    monkeypatch.setattr(Executor, "deaf", staticmethod(lambda: next(answers, True)))
    _, shard, _ = play(machine_of(words("a", "b", "c"), never(ROW, "c")), [[]])
    [line] = of(shard, ReplayLine)
    folder = folder_of(play, shard, ROW)
    assert (line.seen, line.evidence) == (0, of(shard, ObservationLine)[0].evidence)
    assert "Seen again: 0 of 5 replays." in (folder / "report.md").read_text()
    assert (folder / "shrunk.json").exists()
    assert run_of(play).violations[0].result == "violated"


def test_a_row_that_is_known_to_be_broken_hides_no_other(play: Play) -> None:
    """After the opening broke a row, examples are drawn all the same, and do not stop at it."""
    check = machine_of(words("drawn 1"), never(ROW, "drawn 1"), never(OTHER, "drawn 2", "drawn 3"))
    _, shard, histories = play(check, [[]], "quick")
    assert {line.requirement for line in of(shard, ReplayLine)} == {ROW, OTHER}
    drawn = [h for h in histories if len(steps_taken(h)) > 2]
    assert any("drawn 1" in [word for _, _, word in heard(h)][:-2] for h in drawn)


@pytest.mark.parametrize("other", [{"label": "misheard"}, {"case": "replica"}])
def test_a_known_breach_hides_no_other_of_the_same_row(play: Play, other: dict[str, str]) -> None:
    """Another anomaly, or another case, is another bug: it is shrunk and replayed by itself."""
    check = machine_of(words("drawn 1"), never(ROW, "drawn 1"), never(ROW, "drawn 2", "drawn 3", **other))
    _, shard, _ = play(check, [[]], "quick")
    first, second = of(shard, ReplayLine)
    assert first.requirement == second.requirement == ROW
    assert first.evidence != second.evidence
    observed = [step["word"] for step in schedule_in(run_of(play).lab.settings.out_dir / second.evidence)]
    assert observed == ["drawn 2", "drawn 3"]


def test_what_released_versions_are_known_to_show_stops_no_example_and_is_shrunk_last(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    deviation = Deviation(requirement=ROW, versions=("4.3..",), cases=(CASES[ROW],), reason="it is known")
    monkeypatch.setattr(lab_module, "load_deviations", lambda catalogue, *own: [deviation])
    _, shard, _ = play(machine_of(words("a", "b", "c"), never(ROW, "a"), never(OTHER, "c")), [[]])
    assert [line.requirement for line in of(shard, ReplayLine)] == [OTHER, ROW]
    assert {line.requirement for line in of(shard, ObservationLine) if line.result == "violated"} == {ROW, OTHER}


def test_another_case_of_a_row_that_is_known_stops_its_example(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    deviation = Deviation(requirement=ROW, versions=("4.3..",), cases=("replica",), reason="it is known")
    monkeypatch.setattr(lab_module, "load_deviations", lambda catalogue, *own: [deviation])
    _, shard, _ = play(machine_of(words("a", "b", "c"), never(ROW, "a"), never(OTHER, "c")), [[]])
    assert {line.requirement for line in of(shard, ReplayLine)} == {ROW}


@pytest.mark.parametrize(
    ("takes", "new"),
    [((), []), ((("say",),), []), ((("kill voter",),), [ROW])],
    ids=["known", "with its step", "without its fault"],
)
def test_a_deviation_that_takes_a_fault_is_new_without_one(
    play: Play, monkeypatch: pytest.MonkeyPatch, takes: tuple[tuple[str, ...], ...], new: list[str]
) -> None:
    deviation = Deviation(requirement=ROW, versions=("4.3..",), cases=(CASES[ROW],), takes=takes, reason="it is known")
    monkeypatch.setattr(lab_module, "load_deviations", lambda catalogue, *own: [deviation])
    with Run.begin() as run:
        machine = machine_of([], never(ROW, "a"))
        lab = FakeLab(play.out, run, [[]], "quick", judges=machine.judges)
        finding = MachineRun(machine, lab, "4.3.1").play(words("a"))
        assert [o.requirement for o in finding.new_violations] == new
        lab.close()


def test_two_breaches_of_one_row_by_one_example_have_evidence_each(play: Play) -> None:
    check = machine_of(words("a"), never(ROW, "a"), never(ROW, "a", case="replica"))
    _, shard, _ = play(check, [[]])
    found = {line.case: line.evidence for line in of(shard, ObservationLine)[:2]}
    assert len(set(found.values())) == 2
    out = run_of(play).lab.settings.out_dir
    assert all(f"Case: {case}." in (out / folder / "report.md").read_text() for case, folder in found.items())


def test_a_violation_is_in_the_shard_before_anything_is_raised(play: Play) -> None:
    """The exception that ends an example for Hypothesis is raised when its observations are written."""
    with Run.begin() as run:
        machine = machine_of([], never(ROW, "a"))
        lab = FakeLab(play.out, run, [[]], "quick", judges=machine.judges)
        part = MachineRun(machine, lab, "4.3.1", part=2)
        finding = part.play(words("a"))
        [path] = (play.out / "shards").glob("*.jsonl")
        assert [line.result for line in of(read_shard(path), ObservationLine)] == ["violated"]
        assert [o.requirement for o in finding.new_violations] == [ROW]
        lab.close()


def test_when_time_is_up_the_check_says_what_was_left_out(play: Play) -> None:
    _, shard, histories = play(machine_of(words("a"), never(ROW, "z")), [[]], "quick", seconds=0.001)
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.examples, len(histories)) == ("cut-off", 1, 1)
    assert line.detail == "time was up after 0 of 2 drawn examples"


def test_a_part_that_only_opens_draws_nothing_and_lacks_nothing(tmp_path: Path) -> None:
    """Under a clock too: the time that is left is for others."""
    check = machine_of(words("a"), never(ROW, "z"))
    with Run.begin() as run:
        lab = FakeLab(tmp_path, run, [[]], "quick", judges=check.judges)
        MachineRun(check, lab, "4.3.1", only_opens=True).run(30.0)
        lab.close()
    [file] = (tmp_path / "shards").glob("*.jsonl")
    [line] = of(read_shard(file), CheckLine)
    assert (line.outcome, line.examples, line.detail) == ("done", 1, "")


def test_all_the_time_is_used(play: Play) -> None:
    """There are as many examples as there is time for, beyond what Hypothesis is asked for at once."""
    _, shard, _ = play(machine_of(words("a"), never(ROW, "z")), [[]], "quick", seconds=6.0)
    [line] = of(shard, CheckLine)
    assert (line.outcome, line.examples > BATCH + 1) == ("done", True), line.detail
    assert line.seconds < 6.0


def test_no_step_is_taken_when_time_is_up(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example goes to its rest at once; what it had shown is judged."""
    check = machine_of(words("a", *(f"w{n}" for n in range(10_000))), never(ROW, "z"))
    _, shard, histories = play(check, [[]], "quick", seconds=0.3)
    observed = [word for _, _, word in heard(histories[0])]
    assert (observed[0], observed[-1], len(observed) < 10_000) == ("a", "rest", True)
    assert of(shard, ExampleLine)[0].outcome == "judged"
    assert of(shard, CheckLine)[0].outcome == "cut-off"


def test_shrinking_and_replays_end_with_the_time_of_the_check(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step takes a while, so that neither comes to its own end."""
    monkeypatch.setattr(Executor, "lasts", 0.1)
    began = time.monotonic()
    _, shard, _ = play(machine_of(long("a", "b", "c"), never(ROW, "a", "b", "c")), [[]], "quick", seconds=2.4)
    assert time.monotonic() - began < 6.0
    assert "violated" in {line.result for line in of(shard, ObservationLine)}
    assert sum(line.tries for line in of(shard, ReplayLine)) < 5


def test_a_schedule_is_replayed_and_counted_for_its_row(play: Play, tmp_path: Path) -> None:
    check = machine_of(words("a", "b"), never(ROW, "a", "b"), never(OTHER, "a", "c"))
    _, shard, _ = play(check, [[]])
    schedule = read_schedule(folder_of(play, shard, ROW) / "schedule.json")
    assert schedule.requirement == ROW
    with Run.begin() as run:
        lab = FakeLab(tmp_path / "again", run, [[]], "smoke", judges=check.judges)
        replay = ReplayRun(check, schedule, lab, "4.3.1")
        replay.run()
        lab.close()
    assert [o.requirement for o in replay.violations] == [ROW] * 5


# --- what examples are about


# --- how it begins


def begun(play: Play, check: JudgedMachine, beginning: Beginning) -> tuple[MachineRun, Shard]:
    """With this beginning in place of the usual one."""
    with Run.begin() as run:
        lab = FakeLab(play.out, run, [[]], "smoke", judges=check.judges)
        machine = MachineRun(check, lab, "4.3.1", beginning=beginning)
        machine.run()
        lab.close()
    return machine, play.shard()


def recorded(*spoken: str, row: str = ROW) -> Schedule:
    steps = [msgspec.to_builtins(word) for word in words(*spoken)]
    return Schedule(check="tests.machine", column=COLUMN, requirement=row, steps=steps)


def test_schedules_are_played_before_the_opening(play: Play) -> None:
    beginning = Beginning(schedules=[recorded("a"), recorded("b")])
    begun(play, machine_of(words("opening"), never(ROW, "never")), beginning)
    [path] = (play.out / "histories").rglob("*.zst")
    spoken = [[word for _, _, word in heard(history)] for history in read_histories(path)]
    assert spoken == [["a", "rest"], ["a", "rest"], ["b", "rest"], ["b", "rest"], ["opening", "rest"]]


def test_a_schedule_that_breaks_its_row_again_has_evidence_and_is_not_shrunk(play: Play) -> None:
    beginning = Beginning(schedules=[recorded("a", "b", "c")], opening=False)
    machine, shard = begun(play, machine_of(words("a", "b"), never(ROW, "b")), beginning)
    [line] = of(shard, ReplayLine)
    assert (line.requirement, line.seen, line.tries, len(of(shard, ExampleLine))) == (ROW, 1, 1, 1)
    assert [step["word"] for step in schedule_in(machine.lab.settings.out_dir / line.evidence)] == ["a", "b"]


def test_nor_is_one_that_released_versions_are_known_to_break(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    deviation = Deviation(requirement=ROW, versions=("4.3..",), cases=(CASES[ROW],), reason="it is known")
    monkeypatch.setattr(lab_module, "load_deviations", lambda catalogue, *own: [deviation])
    beginning = Beginning(schedules=[recorded("a", "b", "c")], opening=False)
    _, shard = begun(play, machine_of(words("a", "b"), never(ROW, "b")), beginning)
    assert [(line.seen, line.tries) for line in of(shard, ReplayLine)] == [(1, 1)]
    assert len(of(shard, ExampleLine)) == 1


def test_another_row_that_it_breaks_is_investigated(play: Play) -> None:
    beginning = Beginning(schedules=[recorded("x", "a")], opening=False)
    _, shard = begun(play, machine_of(words("a"), never(ROW, "a"), never(OTHER, "x")), beginning)
    assert {line.requirement for line in of(shard, ReplayLine)} == {ROW, OTHER}


def test_a_known_breach_is_recorded_and_not_investigated(play: Play) -> None:
    known = Beginning(known=[Breach(ROW, "heard", "consumer")])
    machine, shard = begun(play, machine_of(words("a", "b"), never(ROW, "a")), known)
    assert (len(machine.violations), of(shard, ReplayLine), len(of(shard, ExampleLine))) == (1, [], 1)


def test_parts_share_the_schedules_and_the_first_has_the_opening() -> None:
    own, other = [recorded(word) for word in "abcde"], msgspec.structs.replace(recorded("f"), check="another")
    whole = Beginning(schedules=[*own, other])
    parts = [whole.for_part(machine_of(words("a"), never(ROW, "a")), part, 2) for part in (1, 2)]
    assert [[*one.schedules] for one in parts] == [own[::2], own[1::2]]
    assert [one.opening for one in parts] == [True, False]


def test_the_shard_counts_steps_and_premises(play: Play) -> None:
    _, shard, _ = play(machine_of([*words("a", "b"), Jolt()], never(ROW, "z")), [[]])
    [line] = of(shard, ExampleLine)
    assert line.steps == {"say": 2, "jolt": 1}
    assert line.premises == {"it is quiet": PremiseCount(met=1)}


def test_a_machine_knows_its_steps_and_faults() -> None:
    check = machine_of([])
    assert check.kinds == ["say", "jolt"]
    assert check.faults == ["recorded"]


def test_steps_are_found_by_what_they_show_and_what_they_are_about(play: Play) -> None:
    steps = [*words("a"), *words("b", on="loose-0"), Jolt(), *words("c")]
    _, _, histories = play(machine_of(steps, never(ROW, "z")), [[]])
    history, schedule = histories[0], steps_taken(histories[0])
    [b] = [e.n for e in history.events if isinstance(e, Answer) and e.value == {"word": "b"}]
    assert steps_with(schedule, [b]) == {1}
    assert steps_about(history, schedule, [b]) == {1, 2}
    [a] = [e.n for e in history.events if isinstance(e, Call) and e.request["word"] == "a"]
    assert steps_about(history, schedule, [a]) == {0, 2, 3}
