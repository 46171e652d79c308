"""Machines: Hypothesis state machines whose steps run on a live cluster and whose histories are judged afterwards.

A machine draws steps by a model (`conformance.core.model`), with the rules that all machines share
(`conformance.core.rules`) and its own; an executor (`conformance.core.executor`) runs a schedule of steps, drawn or replayed;
judges look at the history. A machine of one rule, on a `bench` (here any cluster's):

>>> from hypothesis.stateful import rule
>>> from hypothesis.strategies import integers
>>> from conformance.core.topologies import QUICK_CLUSTER
>>> from conformance.judging.judge import judge_all
>>> from conformance.judging.judges import JUDGES
>>> from conformance.rigs.log.partition import new_partition
>>> from conformance.rigs.log.quiescence import at_rest
>>> class Write(Step, frozen=True, kw_only=True, tag="write"):
...     records: int = 1
>>> class WriteMachine(KafkaMachine[FaultModel]):
...     model_type = FaultModel
...
...     @rule(records=integers(1, 3))
...     def write(self, records):
...         self.do(Write(records=records))
>>> class WriteExecutor:
...     def __init__(self, bench):
...         self.partition = new_partition(bench)
...
...     def step(self, step):
...         self.partition.write(*[b"value"] * step.records)
...
...     def bring_to_rest(self):
...         at_rest(self.partition)
>>> check = MachineCheck(
...     id="machines.write", topology=QUICK_CLUSTER, machine=WriteMachine, executor=WriteExecutor, step=Write,
...     aims=["partition"], opening=[Write()],
... )
>>> [step] = check.steps([{"do": "write", "records": 2}])
>>> step, check.simpler(step)
(Write(records=2), [Write(records=1)])
>>> executor = check.executor(bench)
>>> executor.step(step)
>>> executor.bring_to_rest()
>>> {observation.result for observation in judge_all(JUDGES, bench.tape.history)}
{'held'}
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar, get_args

import msgspec
from hypothesis.stateful import RuleBasedStateMachine

from conformance.core.bench import Bench
from conformance.core.model import FaultModel
from conformance.judging.judges import rows_about
from fixtures.cluster import Topology
from fixtures.faults.base.fault import Fault
from history.subjects import Kind
from strategies.episodes import Steering
from strategies.steps import Step

M = TypeVar("M", bound=FaultModel)
S = TypeVar("S", bound=Step)
T = TypeVar("T", bound=msgspec.Struct)
S_contra = TypeVar("S_contra", bound=Step, contravariant=True)


class Executor(Protocol[S_contra]):
    """An executor of one example's steps on fresh topics, groups and ids; see `conformance.core.executor`."""

    def step(self, step: S_contra) -> None: ...

    def bring_to_rest(self) -> None:
        """Heal everything, wait until the cluster is healthy, and read what the judges need. Raises KitError if it does not
        heal."""
        ...


class KafkaMachine(RuleBasedStateMachine, Generic[M]):
    """The base of machines. Rules call `do`. Which rules are enabled depends only on the model, an instance of `model_type`."""

    model_type: type[M]
    steps_per_rule: ClassVar[int] = 1
    """The approximate number of steps per rule."""

    def __init__(
        self, run_step: Callable[[Step], None], finish: Callable[[], None], steering: Steering | None = None
    ) -> None:
        """Begin an example. `steering` tells machines that draw episodes which combinations were rarest so far."""
        super().__init__()
        self.model = self.model_type()
        self.steering = steering
        self._run_step = run_step
        self._finish = finish

    def do(self, step: Step) -> None:
        """Take a step: the model notes it, then it runs."""
        self.model.note_drawn(step)
        self._run_step(step)

    def teardown(self) -> None:
        self._finish()


def simpler_steps(step: T) -> list[T]:
    """Return simpler steps: first one with all numbers at their minimum, then one for each number alone.

    Kind, subject and roles stay. The list is empty if no number can be smaller.
    """
    each = [_with_value(step, path, least) for path, least in _smaller_numbers(step)]
    all_at_once = step
    for path, least in _smaller_numbers(step):
        all_at_once = _with_value(all_at_once, path, least)
    return [all_at_once, *each] if len(each) > 1 else each


Number: TypeAlias = int | float


def _smaller_numbers(struct: msgspec.Struct, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Number]]:
    """Yield the path of each number that can be smaller, with its minimum: the field's default, or else 1."""
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        if isinstance(value, msgspec.Struct):
            yield from _smaller_numbers(value, (*above, field.name))
        elif type(value) in (int, float) and field.name != "on":
            least = field.default if isinstance(field.default, (int, float)) else 1
            if abs(least) < abs(value):
                yield (*above, field.name), least


def _with_value(struct: T, path: tuple[str, ...], value: Number) -> T:
    name, *rest = path
    inner = _with_value(getattr(struct, name), tuple(rest), value) if rest else value
    return msgspec.structs.replace(struct, **{name: inner})


class MachineCheck(msgspec.Struct, Generic[S], frozen=True, kw_only=True, eq=False, dict=True):
    """A machine as a check.

    `step` is the union of its steps' types. `opening` is the schedule of the first example on every column. It takes each rule
    once, so that even the shortest profile tries every rule; Hypothesis draws all other examples. `simpler` returns variants of a
    step, the simplest first. The machine's parts take turns on `topologies`, clusters with settings that cannot change while
    brokers run. `injects` are the faults that its steps inject.
    """

    id: str
    topology: Topology
    machine: type[KafkaMachine[Any]]
    executor: Callable[[Bench], Executor[S]]
    step: object
    aims: Sequence[Kind]
    opening: Sequence[S]
    simpler: Callable[[S], list[S]] = simpler_steps
    topologies: Sequence[Topology] = ()
    injects: Sequence[type[Fault]] = ()

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The rows of the judges for the kinds of subjects at which the machine aims."""
        return rows_about(*self.aims)

    @property
    def module(self) -> str:
        return self.machine.__module__

    @property
    def title(self) -> str:
        return (self.machine.__doc__ or self.id).strip().splitlines()[0]

    def topology_of(self, part: int) -> Topology:
        """Return the cluster for a part; parts count from 1."""
        clusters = (self.topology, *self.topologies)
        return clusters[(part - 1) % len(clusters)]

    def rule_count(self, steps: int) -> int:
        """Return the number of rules that take about `steps` steps, at least one, plus the rules that begin an example."""
        return len(self.machine.setup_state().initializers) + max(1, round(steps / self.machine.steps_per_rule))

    def steps(self, schedule: Sequence[Mapping[str, Any]]) -> list[S]:
        """Return a recorded schedule as steps. Raises msgspec.ValidationError for a step that the machine does not have."""
        steps: list[S] = msgspec.convert(schedule, list[self.step])  # type: ignore[name-defined]
        return steps

    @property
    def kinds(self) -> list[str]:
        """The tags of all kinds of steps."""
        return [str(kind.__struct_config__.tag) for kind in self.step_types]

    @property
    def step_types(self) -> list[type[msgspec.Struct]]:
        return [self.step] if isinstance(self.step, type) else [*get_args(self.step)]

    @property
    def faults(self) -> list[str]:
        """The names of all faults that the steps inject."""
        return sorted(str(kind.__struct_config__.tag) for kind in self.injects)


AnyMachine: TypeAlias = MachineCheck[Any]

MACHINES: dict[str, AnyMachine] = {}


def machine(check: MachineCheck[S]) -> MachineCheck[S]:
    """Register a machine."""
    if check.id in MACHINES:
        raise ValueError(f"machine {check.id} is registered twice; give one of them another id")
    MACHINES[check.id] = check
    return check


def all_machines() -> dict[str, AnyMachine]:
    """Import the machines' modules and return all machines by id."""
    from conformance.core.checks import import_checks

    import_checks()
    return dict(sorted(MACHINES.items()))
