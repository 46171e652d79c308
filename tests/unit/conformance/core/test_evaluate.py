"""One example of a check, live and from its stored history: what it may say, and that it says the same again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis.strategies import integers

from conformance.catalogue import shipped_rows
from conformance.core import checks
from conformance.core.bench import Bench
from conformance.core.checks import Check, Claims, held_if, premise, record_only
from conformance.core.evaluate import evaluate_check, judge_on_column
from conformance.core.waiting import SLEEP_THRESHOLD, Settled
from conformance.judging.excuses import HOST_SLEPT, INAPPLICABLE, NOT_ANSWERED, STARVED
from conformance.judging.judge import Excuse, Finding, judge
from conformance.judging.judges import JUDGES
from fixtures.faults.base.fault import NothingToDamage
from fixtures.starvation import STARVATION
from fixtures.tape import StoredTape
from fixtures.wire import NotSent, Unanswered, WireError
from fixtures.wire.errors import UnexpectedAnswer
from history.events import Ended, Fault, History, Overdue, Premise, ProcessEnd
from history.shards import ExcuseCount
from protocol.errors import KitError
from tests.support.declared import facts_of
from tests.support.fake_cluster import FakeCluster
from tests.support.played_checks import (
    COLUMN,
    FACTS,
    FRESH,
    OTHER,
    ROW,
    SHARED,
    Log,
    Play,
    check_of,
    grows,
)


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    made = Play(tmp_path)
    yield made
    made.writer.close()


# --- bodies


def grows_in_both_rows(log: Log, case: str, rises: int) -> Claims:
    """Does what `grows` does, for two rows."""
    after = log.end()
    yield held_if(after.offset == log.data.start + rises, after, variant="exact")
    yield held_if(after.leader_epoch == 3, after, row=OTHER, case="follower", label="epoch-regression")
    yield record_only(after, case=case, detail=f"case {case}")


def loses_its_premise_late(log: Log) -> Claims:
    """Yields an observation before its premise, and would yield another after it."""
    yield held_if(True, log.end())
    yield held_if(False, log.end())
    yield premise(False, "the epoch is still 3")
    yield held_if(False, log.end())


def breaks(log: Log) -> Claims:
    """Has a bug."""
    yield held_if(True, log.end())
    raise ZeroDivisionError("a bug of the probe")


def waits_in_vain(log: Log) -> Claims:
    """Asks for what never comes true."""
    log.bench.eventually(lambda: None, "a leader", within=0.01, due=None)
    yield held_if(False)


def names_another_case(log: Log) -> Claims:
    """Observes a case that the row does not have."""
    yield held_if(False, log.end(), case="no-such-case")


def names_another_row(log: Log) -> Claims:
    """Observes a row that it does not declare."""
    yield held_if(False, log.end(), row=OTHER)


def goes_on_without_an_answer(log: Log) -> Claims:
    """A lost answer is a lost answer also on the record."""
    lost = 0
    for _ in range(2):
        try:
            log.end()
        except WireError:
            lost += 1
    yield held_if(lost == 1, detail=f"{lost} lost")


def disturbs(log: Log) -> Claims:
    """Kills a node and reads a file."""
    with log.bench.processes.down("broker-2", role="a follower"):
        there = log.bench.read_file("broker-2", "topic-0/leader-epoch-checkpoint")
        gone = log.bench.read_file("broker-2", "topic-0/nothing")
    yield held_if(there.text == "0\n0\n" and gone.content is None, there, gone)


def pauses_nothing(log: Log) -> Claims:
    """The fault shows no effect."""
    log.bench.processes.pause("broker-2")
    yield held_if(False)


# --- what an example may say


def test_an_observation_names_row_case_inputs_and_events(play: Play) -> None:
    check = check_of(grows_in_both_rows, rows=(ROW, OTHER), rises=integers())
    outcome, history = play.live(check, FakeCluster(5, 7), rises=2)
    assert outcome.end == "judged"
    first, second, third = outcome.observations
    assert (first.requirement, first.case, first.result, first.variant) == (ROW, "consumer", "held", "exact")
    assert (first.inputs, first.example, first.events) == ('{"rises":2}', "e-0", [3])
    assert (second.requirement, second.case, second.label) == (OTHER, "follower", "epoch-regression")
    assert (third.result, third.detail) == ("recorded", "case consumer")
    assert history.answered_calls()[1][1].value["offset"] == 7


def test_a_broken_row_is_told_with_what_shows_it(play: Play) -> None:
    outcome, _ = play.live(check_of(grows), FakeCluster(5, 7, 6))
    [observation] = outcome.observations
    assert (observation.result, observation.events) == ("violated", [3, 6])
    assert observation.detail == (
        "broker-1 was asked ListOffsets topic-1-0 at -1 as consumer and answered offset 7 of epoch 3, "
        "then ListOffsets topic-1-0 at -1 as consumer and answered offset 6 of epoch 3. "
        "Promised: The log end never falls (replica id -1)."
    )


@pytest.mark.parametrize(("body", "observed"), [(grows, []), (loses_its_premise_late, ["held", "violated"])])
def test_a_lost_premise_ends_what_comes_after_it(play: Play, body: Any, observed: list[str]) -> None:
    check = check_of(body)
    outcome, history = play.live(check, FakeCluster(5, -1, -2, -3))
    assert outcome.end == "premise lost"
    assert [o.result for o in outcome.observations] == observed
    assert [event.met for event in history.events if isinstance(event, Premise)] == [False]
    assert play.again(check).observations == outcome.observations


def breaks_after_a_violation(log: Log) -> Claims:
    """Proves something, and then has a bug."""
    yield held_if(True, log.end())
    yield held_if(False, log.end())
    raise ZeroDivisionError("a bug of the probe")


def test_a_violation_stays_proved_when_trouble_comes_after_it(play: Play) -> None:
    check = check_of(breaks_after_a_violation)
    outcome, _ = play.live(check, FakeCluster(5, 7, 7))
    assert outcome.end == "error"
    assert [o.result for o in outcome.observations] == ["violated"]
    assert play.again(check).observations == outcome.observations


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (breaks, "ZeroDivisionError: a bug of the probe"),
        (waits_in_vain, "a leader: not within 0.01 s"),
        (names_another_case, f"{ROW} case 'no-such-case', which it does not declare or the catalogue does not have"),
        (names_another_row, f"{OTHER} case 'consumer', which it does not declare"),
        (pauses_nothing, "freeze of broker-2 shows no effect: the engine reports running, not paused"),
    ],
)
def test_trouble_is_an_error_and_never_a_violation(play: Play, body: Any, reason: str) -> None:
    outcome, history = play.live(check_of(body), FakeCluster(5, 7, 7))
    assert (outcome.end, outcome.observations) == ("error", [])
    assert reason in outcome.detail
    assert history.end is not None
    assert reason in history.end.detail


@pytest.mark.parametrize("trouble", [NotSent("no connection"), KitError("no topic"), ValueError("a bug of the rig")])
def test_a_rig_that_fails_is_an_error(play: Play, trouble: Exception) -> None:
    outcome, _ = play.live(check_of(grows), FakeCluster(trouble))
    assert (outcome.end, outcome.observations) == ("error", [])
    assert str(trouble) in outcome.detail


def test_a_probe_is_given_the_expectation_of_its_column(play: Play) -> None:
    def shrinks(log: Log, expected: str) -> Claims:
        """Says what is expected."""
        yield held_if(True, log.end(), case="shrink", detail=expected)

    check = Check(own_rows=("KIP101-EPOCH-03",), rig=FRESH, cases=("shrink",), body=shrinks)
    outcome, _ = play.live(check, FakeCluster(5, 7))
    assert [o.detail for o in outcome.observations] == ["SHRINK_KEEPS"]


def test_a_shared_rig_is_not_prepared_again(play: Play) -> None:
    context = {"topic": "made-before", "start": 4}
    check = check_of(grows_in_both_rows, SHARED, rows=(ROW, OTHER), rises=integers())
    outcome, history = play.live(check, FakeCluster(6), context=context, rises=2)
    assert [o.result for o in outcome.observations] == ["held", "held", "recorded"]
    assert [call.request["topic"] for call, _ in history.answered_calls()] == ["made-before"]
    assert play.again(check) == outcome


def test_a_fault_is_recorded_with_its_witness_and_healed(play: Play) -> None:
    outcome, history = play.live(check_of(disturbs), FakeCluster(5))
    assert [o.result for o in outcome.observations] == ["held"]
    faults = [event for event in history.events if isinstance(event, Fault)]
    assert [(event.phase, event.node) for event in faults] == [
        ("inject", "broker-2"), ("witness", "broker-2"), ("heal", "broker-2")]  # fmt: skip
    assert [event.detail for event in faults[1:]] == [{"state": "exited"}, {"started_at": "start 2"}]
    assert play.again(check_of(disturbs)) == outcome


def looks_before_and_after(log: Log) -> Claims:
    """An answer from before the fault shows an observation after it, too."""
    before = log.end()
    yield held_if(before.offset == 5, before)
    yield held_if(True, detail="calm")
    with log.bench.processes.down("broker-2", role="a follower"):
        yield held_if(True, before)
    after = log.end()
    yield held_if(after.offset == 7, before, after)
    yield held_if(True, detail="disturbed")


def observes(log: Log) -> Claims:
    """A log's end, for a property and a scenario."""
    yield held_if(log.end().offset == 5, row="KIP101-INV-09", case="log")
    yield held_if(True, row="KIP101-EPOCH-04", case="broker")


def test_what_a_body_observes_where_nothing_is_disturbed_is_calm_unless_its_schedule_is_a_scenario(play: Play) -> None:
    outcome, _ = play.live(check_of(observes, rows=("KIP101-INV-09", "KIP101-EPOCH-04")), FakeCluster(5, 5))
    assert outcome.detail == ""
    assert [(one.requirement, one.calm) for one in outcome.observations] == [
        ("KIP101-INV-09", True),
        ("KIP101-EPOCH-04", False),
    ]
    disturbed, _ = play.live(check_of(looks_before_and_after), FakeCluster(5, 5, 7))
    assert [one.calm for one in disturbed.observations] == [False] * 5
    assert {one.situation for one in outcome.observations} == {""}
    assert "" not in {one.situation for one in disturbed.observations}
    assert len({one.situation for one in disturbed.observations}) == 2, "with and without an answer of the broker"


def test_an_observation_lived_through_no_fault_that_changed_nothing(play: Play) -> None:
    outcome, _ = play.live(check_of(looks_before_and_after), FakeCluster(5, 5, 7))
    assert [one.lived for one in outcome.observations] == [[]] * 5
    assert play.again(check_of(looks_before_and_after)) == outcome


# --- judged again


@pytest.mark.parametrize(
    ("body", "answers"),
    [
        (grows, (5, 7, 7)),
        (grows, (5, 7, 6)),
        (goes_on_without_an_answer, (5, Unanswered("no answer in 3 s"), 7)),
        (breaks, (5, 7)),
        (loses_its_premise_late, (5, 7, 7)),
    ],
)
def test_the_record_gives_the_same_outcome(play: Play, body: Any, answers: tuple[Any, ...]) -> None:
    outcome, _ = play.live(check_of(body), FakeCluster(*answers))
    again = play.again(check_of(body))
    assert (again.end, again.observations) == (outcome.end, outcome.observations)


def test_a_check_that_asks_more_than_it_did_is_off_the_record(play: Play) -> None:
    play.live(check_of(grows), FakeCluster(5, 7, 7))

    def asks_once_more(log: Log) -> Claims:
        """One question more."""
        yield from grows(log)
        log.end()

    again = play.again(check_of(asks_once_more))
    assert (again.end, again.observations) == ("error", [])
    assert "is not in the history; run the check again" in again.detail


def test_excuses_of_judges_are_counted(play: Play) -> None:
    @judge("KIP101-EPOCH-02")
    def undecided(_: History) -> Iterator[Finding | Excuse]:
        yield Excuse(NOT_ANSWERED, "moved")
        yield Finding(True, "moved", ())
        yield Excuse(NOT_ANSWERED, "moved")

    _, history = play.live(check_of(grows), FakeCluster(5, 7, 7))
    found = judge_on_column(FACTS, [undecided], history)
    assert found.excuses == [
        ExcuseCount(requirement="KIP101-EPOCH-02", case="moved", excuse=NOT_ANSWERED.name, times=2)
    ]
    assert [o.requirement for o in found.observations] == ["KIP101-EPOCH-02"]


def test_a_violation_of_a_case_that_does_not_apply_is_left_out_by_name(play: Play) -> None:
    """The column never promised it. Of such a case nothing else is counted."""

    @judge(ROW)
    def elsewhere(_: History) -> Iterator[Finding | Excuse]:
        yield from (Finding(held, case, ()) for held, case in ((False, "hint"), (True, "hint"), (False, "consumer")))
        yield Excuse(NOT_ANSWERED, "hint")

    _, history = play.live(check_of(grows), FakeCluster(5, 7, 7))
    found = judge_on_column(facts_of("3.6.2"), [elsewhere], history)
    assert found.excuses == [ExcuseCount(requirement=ROW, case="hint", excuse=INAPPLICABLE.name, times=1)]
    assert [(o.case, o.result) for o in found.observations] == [("consumer", "violated")]
    later = judge_on_column(FACTS, [elsewhere], history)
    assert [one.excuse for one in later.excuses] == [NOT_ANSWERED.name]
    assert len(later.observations) == 3


def test_so_is_what_a_body_observes(play: Play) -> None:
    def body(log: Log) -> Claims:
        log.end()
        yield held_if(False, case="hint")
        yield held_if(True, case="consumer")

    check = check_of(body)
    older = msgspec.structs.replace(COLUMN, version="3.6.2", ranges=facts_of("3.6.2").ranges)
    _, history = play.live(check, FakeCluster(5, 7))
    members = Bench.members_of(history.example.members)
    outcome = evaluate_check(check, Bench(StoredTape(history), older, members, None), {}, {})
    assert outcome.excuses == [ExcuseCount(requirement=ROW, case="hint", excuse=INAPPLICABLE.name, times=1)]
    assert [one.case for one in outcome.observations] == ["consumer"]


# --- judges


def test_all_judges_look_at_a_probe_even_one_that_lost_its_premise_or_ended_in_trouble(play: Play) -> None:
    lost, history = play.live(check_of(grows), FakeCluster(5, -1, -2, -3))
    assert lost.end == "premise lost"
    assert {(o.requirement, o.case, o.result) for o in judge_on_column(FACTS, JUDGES, history).observations} == {
        ("GEN-03", "list-offsets", "held"),
        ("GEN-12", "list-offsets", "held"),
    }
    broken, history = play.live(check_of(grows), FakeCluster(UnexpectedAnswer("the answer holds 2")))
    found = judge_on_column(FACTS, JUDGES, history).observations
    assert broken.end == "error"
    assert [(o.requirement, o.case, o.result) for o in found] == [("GEN-03", "list-offsets", "violated")]


# --- scenarios


def scenario_of(body: Any) -> Check:
    return Check(
        own_rows=(ROW,),
        rig=FRESH,
        cases=("consumer",),
        examples=2,
        smoke=False,
        body=body,
        schedule="KIP320-SC-98",
        rest="at rest",
    )


def test_a_scenario_that_comes_to_rest_is_judged(play: Play) -> None:
    def rests(log: Log) -> Claims:
        answer = log.end()
        log.bench.tape.premise("at rest", False)
        yield held_if(True, answer)

    live, _ = play.live(scenario_of(rests), FakeCluster(5, 7))
    again = play.again(scenario_of(rests))
    assert (live.end, again.end) == ("judged", "judged")
    assert live.observations == again.observations


def test_a_scenario_that_does_not_come_to_rest_is_trouble_of_the_kit(play: Play) -> None:
    def stays_broken(log: Log) -> Claims:
        yield held_if(True, log.end())

    outcome, _ = play.live(scenario_of(stays_broken), FakeCluster(5, 7))
    assert outcome.end == "error"
    assert "ended without the premise 'at rest'" in outcome.detail


def test_a_schedule_is_named_with_its_family() -> None:
    with pytest.raises(ValueError, match="has no family"):
        checks.scenario("SC-03", ROW, rig=FRESH, aims=(), rest="at rest")


def test_schedules_are_of_families_of_the_catalogue_and_aim_at_rows_of_judges_and_have_a_rest() -> None:
    found = [check for check in checks.all_checks().values() if check.schedule]
    families = {row.id.partition("-")[0] for row in shipped_rows()}
    assert len({check.schedule for check in found}) == 40
    for check in found:
        assert check.schedule.partition("-")[0] in families
        assert set(check.rows) > set(check.own_rows)
        assert check.rest


# --- what the tested system owes


def stands_on_a_promise(log: Log) -> Claims:
    """Observes something, and then needs what another row promises."""
    yield held_if(True, log.end())
    yield premise(log.end().offset == 7, "the log keeps what it had", promised=("KIP101-INV-05", "kept"))
    yield held_if(False, log.end())


def test_a_broken_promise_violates_its_row_and_ends_the_example(play: Play) -> None:
    check = check_of(stands_on_a_promise)
    outcome, _ = play.live(check, FakeCluster(5, 7, 6))
    seen = [(one.requirement, one.case, one.result, one.detail) for one in outcome.observations]
    broken = (
        "Not met: the log keeps what it had. "
        "Promised: Committed means kept (at its offset, with epoch and value, under a later leader)."
    )
    assert seen[1:] == [("KIP101-INV-05", "kept", "violated", broken)]
    assert (seen[0][2], outcome.end) == ("held", "premise lost")
    assert play.again(check).observations == outcome.observations


def settled(late: float) -> Settled:
    return msgspec.convert({"tries": 3, "met": False, "within": 10.0, "late": late}, Settled)


def starves(log: Log) -> Claims:
    """Waits twice for what does not come, while the kit wakes late by a quarter of the bound."""
    log.end()
    yield held_if(settled(2.5))
    yield premise(settled(2.5), "the log keeps what it had", promised=("KIP101-INV-05", "kept"))


def waits_on_time(log: Log) -> Claims:
    """Waits twice for what does not come, while the kit wakes a little late."""
    log.end()
    yield held_if(settled(2.4))
    yield premise(settled(2.4), "the log keeps what it had", promised=("KIP101-INV-05", "kept"))


def test_a_bound_that_passed_while_the_kit_starved_is_an_excuse(play: Play) -> None:
    outcome, _ = play.live(check_of(starves), FakeCluster(5, 7))
    assert (outcome.observations, outcome.end) == ([], "premise lost")
    excused = {(one.requirement, one.excuse, one.times) for one in outcome.excuses}
    assert excused == {(ROW, STARVED.name, 1), ("KIP101-INV-05", STARVED.name, 1)}


def test_a_bound_that_passed_while_the_kit_was_on_time_is_a_violation(play: Play) -> None:
    outcome, _ = play.live(check_of(waits_on_time), FakeCluster(5, 7))
    assert [(one.requirement, one.result) for one in outcome.observations] == [
        (ROW, "violated"),
        ("KIP101-INV-05", "violated"),
    ]
    assert outcome.excuses == []


@pytest.mark.parametrize("late", [9.9, 10.0])
def test_a_host_that_slept_in_a_wait_leaves_open_what_that_wait_shows(
    play: Play, monkeypatch: pytest.MonkeyPatch, late: float
) -> None:
    def waits_for_long(log: Log) -> Claims:
        """Waits in vain for a minute, and then needs in vain what another row promises."""
        log.end()
        yield held_if(log.bench.wait.end_of_wait(False, 60.0))
        yield premise(log.bench.wait.end_of_wait(False, 60.0), "the log is kept", promised=("KIP101-INV-05", "kept"))

    monkeypatch.setattr(STARVATION, "worst_lateness", lambda since: late)
    check = check_of(waits_for_long)
    outcome, _ = play.live(check, FakeCluster(5, 7))
    broken = {(one.requirement, one.result) for one in outcome.observations}
    excused = {(one.requirement, one.excuse) for one in outcome.excuses}
    if late < SLEEP_THRESHOLD:
        assert (broken, excused) == ({(ROW, "violated"), ("KIP101-INV-05", "violated")}, set())
    else:
        assert (broken, excused) == (set(), {(ROW, HOST_SLEPT.name), ("KIP101-INV-05", HOST_SLEPT.name)})
    assert play.again(check) == outcome


def test_what_no_wait_shows_is_judged_though_the_host_slept(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    def shows_the_wrong_answer(log: Log) -> Claims:
        """Observes a wrong answer on a host that slept, and one for which it waited before."""
        yield held_if(log.bench.wait.end_of_wait(False, 60.0), detail="waited")
        monkeypatch.setattr(STARVATION, "worst_lateness", lambda since: 60.0)
        log.end()
        yield held_if(False, detail="wrong")
        yield premise(False, "the log keeps what it had", promised=("KIP101-INV-05", "kept"))

    monkeypatch.setattr(STARVATION, "worst_lateness", lambda since: 0.0)
    check = check_of(shows_the_wrong_answer)
    outcome, _ = play.live(check, FakeCluster(5, 7))
    assert [one.detail.partition(". ")[0] for one in outcome.observations] == [
        "Waited",
        "Wrong",
        "Not met: the log keeps what it had",
    ]
    assert outcome.excuses == []
    assert play.again(check) == outcome


def test_a_promise_that_is_kept_is_no_observation(play: Play) -> None:
    outcome, _ = play.live(check_of(stands_on_a_promise), FakeCluster(5, 7, 7, 7))
    assert [one.requirement for one in outcome.observations] == [ROW, ROW]


def test_each_promise_is_a_row_and_case_of_the_catalogue() -> None:
    nodes = [node for path in Path("conformance").rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    given = [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == "promised"]
    named = [
        ast.literal_eval(value)
        for value in given
        if all(isinstance(n, ast.Constant) for n in getattr(value, "elts", [value]))
    ]
    assert {(row, case) for row, case in named if case not in {one.id for one in shipped_rows()[row].cases}} == set()
    assert len(named) > 5


def test_a_step_that_never_comes_hinders_the_example_and_is_no_error(play: Play) -> None:
    def waits(log: Log) -> Claims:
        """For a step that is due."""
        yield held_if(True, log.end())
        log.bench.eventually(lambda: None, "the marker", within=0.01, due="write")

    check = check_of(waits)
    outcome, history = play.live(check, FakeCluster(5, 7))
    assert (outcome.end, [one.result for one in outcome.observations]) == ("premise lost", ["held"])
    assert outcome.detail == "KIP360-SEQ-01: the marker: not within 0.01 s"
    [event] = [event for event in history.events if isinstance(event, Overdue)]
    assert (event.due, event.within) == ("write", 0.01)
    again = play.again(check)
    assert (again.end, again.detail, again.observations) == (outcome.end, outcome.detail, outcome.observations)


def test_a_check_that_waits_for_less_than_the_bound_is_in_trouble(play: Play) -> None:
    def waits(log: Log) -> Claims:
        yield held_if(True, log.end())
        log.bench.eventually(lambda: None, "the effect", within=0.01, due="step")

    outcome, _ = play.live(check_of(waits), FakeCluster(5, 7))
    assert (outcome.end, "the effect: not within 0.01 s" in outcome.detail) == ("error", True)


def test_a_file_that_the_broker_never_wrote_is_a_lost_premise(play: Play) -> None:
    def damages(log: Log) -> Claims:
        """To a file that is not there."""
        yield held_if(True, log.end())
        raise NothingToDamage("remove-epoch-checkpoint: broker-1 has not written it")

    outcome, history = play.live(check_of(damages), FakeCluster(5, 7))
    assert (outcome.end, [one.result for one in outcome.observations]) == ("premise lost", ["held"])
    assert [(one.what, one.met) for one in history.events if isinstance(one, Premise)] == [(outcome.detail, False)]


@pytest.mark.parametrize(("memory", "ending"), [(False, "premise lost"), (True, "error")])
def test_a_process_that_ended_by_itself_is_blamed_unless_memory_was_short(
    play: Play, memory: bool, ending: str
) -> None:
    cluster = FakeCluster(5, NotSent("no connection"))
    cluster.nodes["broker-1"].end = ProcessEnd(exit_code=1, out_of_memory=memory)
    outcome, history = play.live(check_of(grows), cluster)
    assert outcome.end == ending
    assert [event.node for event in history.events if isinstance(event, Ended)] == ["broker-1"]
