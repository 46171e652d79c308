"""Machines: Hypothesis state machines whose steps run on a live cluster and whose histories are judged afterwards.

A machine draws steps by a model; an executor runs a schedule of steps, drawn or replayed; judges look at the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, get_args

import msgspec
from hypothesis.stateful import RuleBasedStateMachine

from conformance.core.bench import Bench
from conformance.judging.judge import Judge, judge_all
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
    that a rule was never tried; Hypothesis draws all others. `simpler` gives other parameters for a step, the simplest first.
    A step may have a field `on`, the machine's name of the partition (the group, the quorum) that it is about: a shrinker
    then tries what concerns a violation alone.
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
        *,
        simpler: Callable[[Any], list[Any]] | None = None,
    ) -> None:
        self.id = id
        self.topology = topology
        self.machine = machine
        self.executor = executor
        self.step = step
        self.simpler = simpler or smaller
        self.opening = list(opening)
        self.judges = tuple(judges)
        self.rows = tuple(dict.fromkeys(one.row for one in judges))
        self.module = machine.__module__
        self.title = (machine.__doc__ or id).strip().splitlines()[0]

    def judge(self, history: History) -> list[Observation]:
        return judge_all(self.judges, history)

    def steps(self, schedule: Sequence[dict[str, Any]]) -> list[Any]:
        """A recorded schedule as steps; msgspec.ValidationError names what is no step of this machine."""
        return msgspec.convert(list(schedule), list[self.step])  # type: ignore[name-defined]

    @property
    def kinds(self) -> list[str]:
        """Of all steps that there are, by their tags."""
        return [str(kind.__struct_config__.tag) for kind in self.step_types]

    @property
    def step_types(self) -> list[Any]:
        return _members(self.step)

    @property
    def faults(self) -> list[str]:
        """Of all faults that a step can bring, by their names: those among the types of the steps' fields."""
        found = {
            str(kind.__struct_config__.tag)
            for step in self.step_types
            for field in msgspec.structs.fields(step)
            for kind in _members(field.type)
            if kind.__struct_config__.tag_field == "fault"
        }
        return sorted(found)


def _members(kind: Any) -> list[Any]:
    """The structs of a union, or the one that it is."""
    return [one for one in get_args(kind) or (kind,) if isinstance(one, type) and issubclass(one, msgspec.Struct)]


def smaller(step: Any) -> list[Any]:
    """The step with smaller numbers: all of them at once, then each by itself. Roles, partitions and kinds stay."""
    each = [_with(step, path, least) for path, least in _smaller_numbers(step)]
    all_at_once = step
    for path, least in _smaller_numbers(step):
        all_at_once = _with(all_at_once, path, least)
    return [all_at_once, *each] if len(each) > 1 else each


def _smaller_numbers(struct: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Fields with a number that is not the least: that of their default, or 1 (a count of nothing is none)."""
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        if isinstance(value, msgspec.Struct):
            yield from _smaller_numbers(value, (*above, field.name))
        elif type(value) in (int, float) and field.name != "on":
            least = field.default if isinstance(field.default, (int, float)) else 1
            if abs(least) < abs(value):
                yield (*above, field.name), least


def _with(struct: Any, path: tuple[str, ...], value: Any) -> Any:
    name, *rest = path
    return msgspec.structs.replace(
        struct, **{name: _with(getattr(struct, name), tuple(rest), value) if rest else value}
    )


MACHINES: dict[str, MachineCheck] = {}


def machine(check: MachineCheck) -> MachineCheck:
    """Enter a machine into the registry."""
    if check.id in MACHINES:
        raise ValueError(f"machine {check.id} is there twice; give one of them another name")
    MACHINES[check.id] = check
    return check


def all_machines() -> dict[str, MachineCheck]:
    """All machines by id; imports the KIP folders' modules."""
    from conformance.core.checks import import_checks

    import_checks()
    return dict(sorted(MACHINES.items()))
