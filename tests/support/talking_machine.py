"""A machine whose steps say words, an executor that hears them, and judges that want words unheard."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import msgspec
from hypothesis.stateful import rule
from hypothesis.strategies import integers

from conformance.core.bench import Bench
from conformance.core.machines import KafkaMachine
from conformance.core.model import FaultModel
from conformance.judging.judge import Finding, Judge, judge
from history.events import History
from protocol.errors import KitError
from strategies.steps import Step
from tests.support.fake_cluster import TOPOLOGY
from tests.support.fake_faults import Recorded
from tests.support.fake_lab import JudgedMachine

ROW, OTHER = "KIP320-FETCH-02", "KIP320-FETCH-03"
SHARED = "KIP320-OFLE-06"


class Say(Step, frozen=True, kw_only=True, tag="say"):
    """Says a word about a partition, several times to be heard."""

    word: str
    on: str = "strict-0"
    times: int = 1


class Jolt(Step, frozen=True, kw_only=True, tag="jolt"):
    disturbs: ClassVar[bool] = True
    fault: Recorded | None = None


class Machine(KafkaMachine[FaultModel]):
    """Says words."""

    model_type = FaultModel

    drawn: ClassVar[int] = 0

    @rule(number=integers(0, 5))
    def say(self, number: int) -> None:
        self.do(Say(word=f"drawn {number}"))


class Heard(msgspec.Struct, frozen=True):
    word: str


class Executor:
    """Every topic is named after its partition and its example, as a machine's are."""

    rests: ClassVar[int] = 0
    lasts: ClassVar[float] = 0.0
    deaf: ClassVar[Callable[[], bool]] = staticmethod(lambda: False)
    frail: ClassVar[Callable[[], bool]] = staticmethod(lambda: False)

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        bench.tape.premise("it is quiet: since 3 s", True)

    def step(self, step: Say | Jolt) -> None:
        if Executor.lasts:
            time.sleep(Executor.lasts)
        if isinstance(step, Jolt) and Executor.frail():
            raise KitError("no candidate")
        if isinstance(step, Say):
            if step.word == "trouble":
                raise KitError("no listener")
            for _ in range(step.times):
                self._say(step.on, step.word)

    def bring_to_rest(self) -> None:
        Executor.rests += 1
        self._say("strict-0", "rest")

    def _say(self, on: str, word: str) -> None:
        topic = f"{on[:-2]}-{self._bench.tape.example.example}"
        asked = {"topic": topic, "partition": 0, "word": word}
        self._bench.tape.call("broker-1", "say", asked, Heard, lambda: Heard("" if Executor.deaf() else word))


def heard(history: History) -> list[tuple[int, str, str]]:
    """Event, topic and word of each word."""
    calls = [(call, answer) for call, answer in history.answered_calls() if call.op == "say"]
    return [(answer.n, call.request["topic"].split("-")[0], answer.value["word"]) for call, answer in calls]


def never(row: str, *words: str, on: str = "strict", label: str = "heard", case: str = "") -> Judge:
    """That words are heard one after the other about one partition, whatever is heard between them."""

    @judge(row)
    def never_heard(history: History) -> Iterator[Finding]:
        left, shown = list(words), []
        for event, place, word in heard(history):
            if left and (place, word) == (on, left[0]):
                left.pop(0)
                shown.append(event)
        yield Finding(bool(left), case or CASES[row], tuple(shown), f"heard {words}", label)

    return never_heard


CASES = {ROW: "consumer", OTHER: "consumer", SHARED: "older"}


def machine_of(opening: list[Any], *judges: Judge) -> JudgedMachine:
    return JudgedMachine(
        id="tests.machine",
        topology=TOPOLOGY,
        machine=Machine,
        executor=Executor,
        step=Say | Jolt,
        judges=judges,
        opening=opening,
        injects=[Recorded],
    )


def words(*spoken: str, on: str = "strict-0") -> list[Any]:
    return [Say(word=word, on=on) for word in spoken]
