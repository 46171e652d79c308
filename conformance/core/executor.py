"""The execution of steps in every machine: outcomes, faults and healing, echoes, and the end of an example.

A machine's executor registers its own steps before the shared ones, or delegates them to one of its parts:

    class GroupExecutor(StepExecutor[GroupStep]):
        def __init__(self, bench: Bench, faults: Faults) -> None:
            super().__init__(bench, faults)
            self.delegate(Fetch, Fetches(bench).fetch)

        @singledispatchmethod
        def run(self, step: Step) -> None:
            super().run(step)

        @run.register
        def _join(self, step: Join) -> None: ...
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import singledispatchmethod
from typing import Any, Generic, NamedTuple, TypeVar

from conformance.core.bench import Bench
from conformance.core.echoing import echo_request
from conformance.core.faulting import Faults
from conformance.core.roles import Absent
from conformance.core.sweeping import SweepTargets, ask_all
from fixtures.consumers import ConsumerTrouble
from fixtures.faults.base.fault import Fault, Unavailable
from fixtures.faults.base.injector import Stuck, Unhealed
from fixtures.producers import ProducerTrouble
from fixtures.waiting import ran_out_of_time
from fixtures.wire import WireError
from history.steps import LEFT_OUT_NOTE
from protocol.messages import Topic
from strategies.steps import Disturb, DisturbBriefly, Echo, Heal, HealPartly, ReadEverything, Step, Sweep

S = TypeVar("S", bound=Step)
T = TypeVar("T", bound=Step)

UNANSWERED = (WireError, ConsumerTrouble, ProducerTrouble)
"""Errors of a request that was never sent, or whose outcome is unknown; the tape says which."""


class StandingFault(NamedTuple):
    """An injected fault, and the nodes that it hit."""

    fault: Fault
    nodes: Sequence[str]


class StepExecutor(ABC, Generic[S]):
    """The base of executors, which run the steps of one example on fresh topics, groups and ids.

    It judges no answers: errors, rejections and lost answers are on the tape for the judges, and the schedule goes on.
    """

    def __init__(self, bench: Bench, faults: Faults) -> None:
        self.bench = bench
        self.faults = faults
        self.standing: list[StandingFault] = []
        self._delegated: dict[type[Step], Callable[[Any], None]] = {}
        self._unhealed: Unhealed | None = None

    def step(self, step: S) -> None:
        """Run one step. Raises KitError for an error of the kit.

        A request without an answer has an unknown outcome (info on the tape). A step is skipped with a note if no node has its
        role, or if its fault cannot be injected now. After a fault that did not heal, no further step runs; the rest shows
        whether Kafka or the kit is to blame.
        """
        if self._unhealed is None:
            with suppress(*UNANSWERED):
                self._unhealed = self._run_or_leave_out(step)

    def _run_or_leave_out(self, step: Step) -> Unhealed | None:
        try:
            return self._catch_unhealed(lambda: self.run(step))
        except (Unavailable, Stuck, Absent) as reason:
            self.bench.tape.note(LEFT_OUT_NOTE, {"reason": str(reason)})
            # Another active fault may keep the cluster from doing its part.
            if isinstance(reason, Stuck) and not self.standing:
                self.bench.record_failure(reason)
            return None

    def _catch_unhealed(self, act: Callable[[], None]) -> Unhealed | None:
        try:
            act()
        except Unhealed as unhealed:
            self.bench.record_failure(unhealed)
            return unhealed
        return None

    @singledispatchmethod
    def run(self, step: Step) -> None:
        if type(step) not in self._delegated:
            raise TypeError(f"{type(self).__name__} does not know the step {step!r}")
        self._delegated[type(step)](step)

    def delegate(self, kind: type[T], execute: Callable[[T], None]) -> None:
        """Run the steps of this kind by `execute`."""
        self._delegated[kind] = execute

    def attempt(self, step: Step) -> None:
        """Run a step as part of another one. It may be skipped, or get no answer."""
        with suppress(*UNANSWERED, Absent):
            self.run(step)

    # --- faults

    @abstractmethod
    def partition_for_fault(self, on: str) -> tuple[Topic, int]:
        """Return the topic and partition for a fault on this subject. Raises Absent."""

    def before_fault(self) -> None:
        """Note the state before the fault that later steps need, e.g. which replica leads."""

    def after_fault(self) -> None:
        """Look again at what a fault or its healing may have changed, e.g. which brokers run."""

    def await_reaction(self) -> None:
        """After a fault with `follow`, wait until the cluster has reacted as it must, or is overdue."""

    @run.register
    def _disturb(self, step: Disturb) -> None:
        self.standing.append(self._inject(step.on, step.fault, follow=step.follow))
        if step.follow:
            self.await_reaction()

    @run.register
    def _disturb_briefly(self, step: DisturbBriefly) -> None:
        if self.standing:
            raise Absent("another fault stands")
        self.faults.heal(self._inject(step.on, step.fault).fault)
        self.after_fault()

    def _inject(self, on: str, fault: Fault, *, follow: bool = True) -> StandingFault:
        fresh, (topic, index) = fault.fresh(), self.partition_for_fault(on)
        self.before_fault()
        injected = self.faults.inject(fresh, topic, index, follow=follow)
        self.after_fault()
        return StandingFault(fresh, injected.nodes)

    @run.register
    def _heal(self, step: Heal) -> None:
        standing, self.standing = self.standing, []
        for one in reversed(standing):
            self.faults.heal(one.fault)
        self.after_fault()

    @run.register
    def _heal_partly(self, step: HealPartly) -> None:
        if not self.standing:
            raise Absent("no fault stands")
        self.faults.heal(self.standing.pop(step.which % len(self.standing)).fault)
        self.after_fault()

    # --- the example as a whole

    @run.register
    def _echo(self, step: Echo) -> None:
        echo_request(self.bench, step.back)

    @run.register
    def _sweep(self, step: Sweep) -> None:
        if self.standing:
            raise Absent("a fault stands")
        ask_all(self.bench, self.sweep_targets(), step.turn)
        self.bench.ask_controllers()

    def sweep_targets(self) -> SweepTargets:
        """Return the partitions and group for a sweep. Raises Absent if there are none."""
        raise Absent(f"{type(self).__name__} names nothing to sweep")

    @run.register
    def _read_everything(self, step: ReadEverything) -> None:
        self.read_everything()
        self.bench.read_quorum()

    @abstractmethod
    def read_everything(self) -> None:
        """Read everything that judges look at, from each running node."""

    # --- rest

    def bring_to_rest(self) -> None:
        """Heal everything, wait until the cluster agrees, and read what the judges need.

        A cluster that never agrees is a finding for the judges. If it agrees although a fault did not heal, everything that shows
        the judges whether Kafka is to blame is read, then Unhealed is raised. If there was just no time to heal, Unhealed is
        raised at once: faults may still be active, and transactions open.
        """
        unhealed = self._unhealed or self._catch_unhealed(lambda: self.run(Heal()))
        if unhealed is not None and ran_out_of_time(unhealed):
            raise unhealed
        self.after_fault()
        self.before_rest(healed=unhealed is None)
        met = self.agrees()
        self.bench.read_quorum()
        if not met:
            return
        self.at_rest()
        if unhealed is not None:
            raise unhealed

    def before_rest(self, *, healed: bool) -> None:
        """Make the last requests that change something. By then everything is healed, unless healing failed."""

    @abstractmethod
    def agrees(self) -> bool:
        """True if all nodes agree on the final state in time. The state is read in either case."""

    def at_rest(self) -> None:
        """Make the last, read-only requests; the final state has been read."""
