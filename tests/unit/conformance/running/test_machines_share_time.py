"""Four machines in three parts each on two workers, played in memory on a clock of the test's own: none is starved."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
from hypothesis.stateful import rule
from hypothesis.strategies import integers

from conformance.core.bench import Bench
from conformance.core.machines import KafkaMachine
from conformance.core.model import FaultModel
from conformance.judging.judge import Finding, Judge, judge
from conformance.running.machine.run import MachineRun
from conformance.running.planning.budget import Work, plan_time
from fixtures.runs import Run
from history.events import History
from strategies.steps import Step
from tests.support.fake_cluster import TOPOLOGY
from tests.support.fake_lab import FakeLab, JudgedMachine

WORKERS, TOTAL = 2, 900.0
SECONDS = 3.0
"""Seconds of the test's clock."""


class Clock:
    now: ClassVar[float] = 0.0


class Turn(Step, frozen=True, kw_only=True, tag="turn"):
    """Takes three seconds."""


class Turned(msgspec.Struct, frozen=True):
    pass


class Machine(KafkaMachine[FaultModel]):
    """Takes turns."""

    model_type = FaultModel

    @rule(number=integers(0, 9))
    def turn(self, number: int) -> None:
        self.do(Turn())


class Executor:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def step(self, step: Turn) -> None:
        Clock.now += SECONDS
        self._bench.tape.call("broker-1", "turn", {}, Turned, Turned)

    def bring_to_rest(self) -> None:
        Clock.now += SECONDS


@judge("KIP101-INV-01")
def holds(history: History) -> Iterator[Finding]:
    yield Finding(True, "replicas", (0,), "held")


def after(turns: int) -> Judge:
    """Broken by every example of that many steps: each is shrunk and replayed, and costs what it may."""

    @judge("KIP101-INV-02")
    def broken(history: History) -> Iterator[Finding]:
        taken = [answer.n for call, answer in history.answered_calls() if call.op == "turn"]
        yield Finding(len(taken) < turns, "prefix", tuple(taken), f"{len(taken)} turns")

    return broken


def played(out: Path, machines: Sequence[JudgedMachine], spent: float) -> list[tuple[Work, MachineRun, float]]:
    """The outcome of each part, and its seconds, after probes that have taken `spent` seconds of every worker."""
    checks = {check.id: check for check in machines}
    work = [Work(check=id, label="4.3.1", kind="machine", part=part) for part in (1, 2, 3) for id in checks]
    plan = plan_time("quick", 15, work, WORKERS)
    clocks = [spent] * WORKERS
    found = []
    for one in work:
        worker = clocks.index(min(clocks))
        Clock.now = clocks[worker]
        with Run.begin() as run:
            lab = FakeLab(out / f"{one.check}-{one.part}", run, [[]], "quick", 15, checks[one.check].judges)
            part = MachineRun(checks[one.check], lab, one.label, one.part)
            part.run(plan.share(one).allowance(Clock.now))
            lab.close()
        found.append((one, part, Clock.now - clocks[worker]))
        clocks[worker] = Clock.now
    assert max(clocks) <= TOTAL + 2 * SECONDS, "the last part overran the time of the run"
    return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: Clock.now)


def machine_of(number: int, *judges: Judge) -> JudgedMachine:
    return JudgedMachine(
        id=f"machine-{number}",
        topology=TOPOLOGY,
        machine=Machine,
        executor=Executor,
        step=Turn,
        judges=(holds, *judges),
        opening=[Turn()] * 5,
    )


@pytest.mark.parametrize("spent", [10.0, 500.0])
def test_every_part_draws_examples(clock: None, tmp_path: Path, spent: float) -> None:
    found = played(tmp_path, [machine_of(number) for number in range(4)], spent)
    assert all(part._explorer.drawn >= 1 for _, part, _ in found)
    seconds = [lasted for _, _, lasted in found]
    assert min(seconds) > 0.5 * max(seconds)


def test_a_machine_that_finds_much_takes_nothing_from_the_others(clock: None, tmp_path: Path) -> None:
    """Its violations are shrunk and replayed in its own time."""
    found = played(tmp_path, [machine_of(0, after(2)), *(machine_of(number) for number in (1, 2, 3))], 100.0)
    seconds = {(one.check, one.part): lasted for one, _, lasted in found}
    busy = [lasted for (check, _), lasted in seconds.items() if check == "machine-0"]
    others = [lasted for (check, _), lasted in seconds.items() if check != "machine-0"]
    assert max(busy) <= max(others) + 60 * SECONDS
    assert min(others) > 0.4 * max(others)
