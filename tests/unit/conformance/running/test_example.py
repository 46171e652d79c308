"""One example of a machine: which steps are taken, what ends it, and what it says of itself then."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.core.bench import Bench
from conformance.core.machines import KafkaMachine, MachineCheck
from conformance.core.model import FaultModel
from conformance.core.topologies import QUICK_CLUSTER
from conformance.judging.judge import Finding, Judge, judge
from conformance.judging.judges import JUDGES
from conformance.running.machine.example import SUSPICION_NOTE, Ending, ExampleRun, FinishedExample
from conformance.running.standing import HEAL_TIMEOUT, HURRIED_HEAL_TIMEOUT
from fixtures.tape import LiveTape
from fixtures.waiting import OutOfTime
from history.events import History, Note
from history.observations import Observation
from history.steps import REST_NOTE, STEP_NOTE, steps_taken
from protocol.errors import KitError
from strategies.steps import Step
from tests.miniature.machine import ExampleOnMiniature

ROW = "KIP320-FETCH-02"
READ_OUT = "read out"

Act = Literal["fine", "broken", "explained", "trouble", "bug", "late"]


class Do(Step, frozen=True, kw_only=True, tag="do"):
    act: Act = "fine"


class Acting:
    """Does what its steps say."""

    def __init__(self, bench: Bench) -> None:
        self._tape = bench.tape

    def step(self, step: Do) -> None:
        match step.act:
            case "trouble":
                raise KitError("no broker answers")
            case "bug":
                raise ZeroDivisionError
            case "late":
                raise OutOfTime("the step has no time left")
        self._tape.note(step.act)

    def bring_to_rest(self) -> None:
        self._tape.note(READ_OUT)


@judge(ROW)
def broken_until_it_is_explained(history: History) -> Iterator[Finding]:
    """Held, unless the latest of both notes says that it is broken."""
    notes = [event for event in history.events if isinstance(event, Note) and event.text in ("broken", "explained")]
    if notes:
        yield Finding(notes[-1].text == "explained", "consumer", (notes[-1].n,), "it is broken")


class NoMachine(KafkaMachine[FaultModel]):
    model_type = FaultModel


class Healing(ExampleOnMiniature):
    """Notes for how long healing may take, and says that the cluster `has_to_be_replaced` where it has to be."""

    judges: Sequence[Judge] = (broken_until_it_is_explained, *JUDGES)
    has_to_be_replaced = ""
    within = 0.0
    troubled = False

    def heal(self, bench: Bench, tape: LiveTape, *, troubled: bool = False, within: float = HEAL_TIMEOUT) -> str:
        self.within, self.troubled = within, troubled
        return self.has_to_be_replaced


def ending(*, stops: bool = True, rests: bool = True, hurries: bool = False, at: float = float("inf")) -> Ending:
    return Ending(stops=lambda observation: stops, rests=rests, hurries=hurries, at=at)


def played(
    acts: list[Act], how: Ending, lab: Healing | None = None, executor: type[Acting] = Acting
) -> FinishedExample:
    lab = lab or Healing()
    check: MachineCheck[Do] = MachineCheck(
        id="machines.acting",
        topology=QUICK_CLUSTER,
        machine=NoMachine,
        executor=executor,
        step=Do,
        aims=(),
        opening=[Do()],
    )
    example = ExampleRun(check, lab, lab.standing, how)
    for act in acts:
        example.step(Do(act=act))
    return example.finish()


def notes(one: FinishedExample, text: str) -> list[Note]:
    return [event for event in one.history.events if isinstance(event, Note) and event.text == text]


def results(observations: list[Observation]) -> list[str]:
    return [one.result for one in observations]


def expected_steps(acts: list[Act], *, stops: bool) -> list[Act]:
    """Up to and with the first that ends the example."""
    for place, act in enumerate(acts, 1):
        if act in ("trouble", "bug", "late") or (act == "broken" and stops):
            return acts[:place]
    return acts


@settings(max_examples=80, deadline=None)
@given(
    acts=st.lists(st.sampled_from(["fine", "fine", "broken", "explained", "trouble", "bug"]), max_size=8),
    stops=st.booleans(),
    rests=st.booleans(),
    hurries=st.booleans(),
)
def test_an_example_ends_with_the_first_thing_that_ends_it(
    acts: list[Act], stops: bool, rests: bool, hurries: bool
) -> None:
    one = played(acts, ending(stops=stops, rests=rests, hurries=hurries))
    steps = expected_steps(acts, stops=stops)
    assert [step.act for step in one.steps if isinstance(step, Do)] == steps
    assert (
        [step.kind for step in steps_taken(one.history)] == ["do"] * len(steps) == ["do"] * len(notes(one, STEP_NOTE))
    )
    troubled = bool({"trouble", "bug"} & {*steps})
    assert bool(one.trouble) == troubled
    assert one.history.end is not None
    assert one.history.end.outcome == ("error" if troubled else "judged")
    suspected = stops and steps[-1:] == ["broken"]
    assert (one.suspicion is not None) == suspected == bool(notes(one, SUSPICION_NOTE))
    assert one.suspicion is None or one.suspicion.after == len(steps)
    reads = rests and not (hurries and suspected) and not troubled
    assert len(notes(one, READ_OUT)) == reads
    decisive = [act for act in steps if act in ("broken", "explained")][-1:]
    assert results(one.observations) == [{"broken": "violated", "explained": "held"}[act] for act in decisive]


def test_a_violation_before_trouble_stays_a_proof() -> None:
    one = played(["broken", "trouble"], ending(stops=False))
    assert (results(one.violations), one.trouble) == (["violated"], "KitError: no broker answers")


def test_a_bug_of_the_executor_is_told_with_its_place() -> None:
    one = played(["bug"], ending())
    assert one.trouble.startswith("Traceback")
    assert "ZeroDivisionError" in one.trouble


def test_the_whole_history_decides_on_a_suspicion() -> None:
    """The end, as it is read out, may explain what looked like a violation before."""

    class ExplainedAtRest(Acting):
        def bring_to_rest(self) -> None:
            self._tape.note("explained")

    lab = Healing()
    one = played(["broken"], ending(), lab, ExplainedAtRest)
    assert one.violations == []
    sentence = "It is broken. Promised: Older current epoch is fenced (replica id -1)."
    assert one.explanation == f"suspected after step 1, and explained by what came then: {ROW} {sentence}"
    assert played(["broken"], ending()).explanation == ""


@pytest.mark.parametrize(("at", "taken", "within"), [(0.0, 0, HURRIED_HEAL_TIMEOUT), (float("inf"), 2, HEAL_TIMEOUT)])
def test_after_its_time_no_step_is_taken_and_healing_is_hurried(at: float, taken: int, within: float) -> None:
    lab = Healing()
    one = played(["fine", "fine"], ending(at=at and time.monotonic() + at), lab)
    assert (len(one.steps), lab.within, one.trouble) == (taken, within, "")
    assert notes(one, REST_NOTE), "what was done by then is read out"


def test_a_step_that_had_no_time_left_ends_the_example_and_is_no_trouble() -> None:
    lab = Healing()
    one = played(["fine", "late", "fine"], ending(), lab)
    assert [step.act for step in one.steps if isinstance(step, Do)] == ["fine", "late"]
    assert (one.trouble, lab.within) == ("", HURRIED_HEAL_TIMEOUT)


def test_an_end_that_could_not_be_read_out_in_time_is_trouble() -> None:
    class Endless(Acting):
        def bring_to_rest(self) -> None:
            raise OutOfTime("the end has no time left")

    lab = Healing()
    one = played(["late"], ending(), lab, Endless)
    assert one.trouble == "OutOfTime: the end has no time left"
    assert lab.troubled


def outcome(one: FinishedExample) -> str:
    return one.history.end.outcome if one.history.end is not None else ""


def test_what_only_the_clock_cut_off_is_neither_judged_to_its_end_nor_an_error() -> None:
    class Unhealed(Acting):
        cause: Exception = OutOfTime("the ISR is full: not within 1 s")

        def bring_to_rest(self) -> None:
            raise KitError("kill healed: not within 1 s") from self.cause

    class Broken(Unhealed):
        cause = OSError("no such container")

    over = time.monotonic()
    assert outcome(played(["fine"], ending(at=over), executor=Unhealed)) == "premise lost"
    assert outcome(played(["fine"], ending(at=over), executor=Broken)) == "error"
    assert outcome(played(["fine"], ending(), executor=Unhealed)) == "error"
    lab = Healing()
    lab.has_to_be_replaced = "broker-2 is lost"
    assert outcome(played(["fine"], ending(at=over), lab)) == "premise lost"
    assert outcome(played(["fine"], ending(), lab)) == "error"


def test_a_cluster_that_has_to_be_replaced_makes_the_example_one_in_trouble_and_keeps_what_it_proved() -> None:
    lab = Healing()
    lab.has_to_be_replaced = "broker-2 is lost"
    one = played(["broken"], ending(), lab)
    assert (one.replaced, results(one.violations)) == ("broker-2 is lost", ["violated"])
    assert "broker-2 is lost" in one.trouble
    assert one.history.end is not None
    assert one.history.end.outcome == "error"
    assert not lab.troubled, "nothing was wrong before that"
