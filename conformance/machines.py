"""Machines: Hypothesis state machines whose steps run on a live cluster and whose histories are judged afterwards.

A machine draws steps by a model; an executor runs a schedule of steps, drawn or replayed; judges look at the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
from hypothesis.stateful import RuleBasedStateMachine

from conformance.bench import Bench
from conformance.judges.judge import Judge, judge_all
from fixtures.cluster import Topology
from history.events import History
from history.observations import Observation


class Executor(Protocol):
    """Runs the steps of one example on fresh topics, groups and ids."""

    def step(self, step: Any) -> None: ...

    def rest(self) -> None:
        """Heal everything, wait until it is whole, and read what the judges need. Raises KitError if it does not heal."""
        ...


class KafkaMachine(RuleBasedStateMachine):
    """Base of the machines. Rules call `do`; what they may do depends on the model alone."""

    def __init__(self, run_step: Callable[[Any], None], finish: Callable[[], None]) -> None:
        super().__init__()
        self.do = run_step
        self._finish = finish

    def teardown(self) -> None:
        self._finish()


class MachineCheck:
    """A machine as a check: its rows are those of its judges.

    `opening` is the schedule of the first example on every column: it takes each rule once, so that no profile is so short
    that a rule was never tried; Hypothesis draws all others.
    """

    def __init__(
        self,
        id: str,
        topology: Topology,
        machine: type[KafkaMachine],
        executor: Callable[[Bench], Executor],
        step: Any,
        judges: Sequence[Judge],
        opening: Sequence[Any],
    ) -> None:
        self.id = id
        self.topology = topology
        self.machine = machine
        self.executor = executor
        self.step = step
        self.opening = list(opening)
        self.judges = tuple(judges)
        self.rows = tuple(one.row for one in judges)
        self.module = machine.__module__
        self.title = (machine.__doc__ or id).strip().splitlines()[0]

    def judge(self, history: History) -> list[Observation]:
        return judge_all(self.judges, history)

    def steps(self, schedule: Sequence[dict[str, Any]]) -> list[Any]:
        """A recorded schedule as steps; msgspec.ValidationError names what is no step of this machine."""
        return msgspec.convert(list(schedule), list[self.step])  # type: ignore[name-defined]


MACHINES: dict[str, MachineCheck] = {}


def machine(check: MachineCheck) -> MachineCheck:
    """Enter a machine into the registry."""
    if check.id in MACHINES:
        raise ValueError(f"machine {check.id} is there twice; give one of them another name")
    MACHINES[check.id] = check
    return check


def all_machines() -> dict[str, MachineCheck]:
    """All machines by id; imports the KIP folders' modules."""
    from conformance.checks import import_checks

    import_checks()
    return dict(sorted(MACHINES.items()))
