"""Faults in a check, injected, witnessed and healed through the tape, so that a stored history needs no cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from fixtures.faults.base.fault import Fault
from fixtures.faults.base.injector import Injected, Injector
from fixtures.faults.base.target import FaultTarget
from fixtures.tape import Tape
from history.events import Phase
from protocol.errors import KitError
from protocol.messages import Topic

CLUSTER = "cluster"
"""The node of a fault's calls on the tape: which nodes the fault hits is known only once it is injected."""


def record_fault(tape: Tape, fault: Fault, phase: Phase, *, node: str, detail: dict[str, Any] | None = None) -> None:
    """Record a phase of a fault that a rig causes on a named node by recorded calls. An injection also has its effects."""
    tape.fault(fault.recorded_phase(phase, node, detail))


class Faults:
    """Faults around one partition. On a stored tape all answers come from the tape.

    The lab heals faults that are still active at the end of the check, and then verifies the cluster's health.
    """

    def __init__(self, tape: Tape, target: FaultTarget | None) -> None:
        self._tape = tape
        self._target = target
        self._injector = Injector(target, tape) if target is not None else None

    def inject(self, fault: Fault, topic: Topic | None = None, index: int = 0, *, follow: bool = True) -> Injected:
        """Inject the fault, around another partition if one is given. Wait for its witness and, with `follow`, for the cluster's
        reaction.

        Raises Unavailable if nothing was done, and Unwitnessed if the fault was undone.
        """
        about = self._target.for_partition(topic, index) if self._target is not None and topic is not None else None
        return self._record("inject", fault, lambda: self._require_injector().inject(fault, about, follow=follow))

    def heal(self, fault: Fault) -> Injected:
        """Heal the fault; wait until it is gone and, if no other is active, the cluster is healthy. Raises Unhealed."""
        return self._record("heal", fault, lambda: self._require_injector().heal(fault))

    @contextmanager
    def standing_fault(self, fault: Fault) -> Iterator[Injected]:
        """Inject the fault, and heal it at the end of the block in any case."""
        injected = self.inject(fault)
        try:
            yield injected
        finally:
            self.heal(fault)

    def heal_all(self) -> None:
        """Heal all active faults of the check. Raises Unhealed."""
        self._require_injector().heal_all()

    @property
    def any_standing(self) -> bool:
        """True if a fault is still active."""
        return self._injector is not None and bool(self._injector.open)

    def blocking_rules(self) -> list[str]:
        """Return the rules that still block links, one line per node."""
        return self._target.links.existing_rules() if self._target is not None else []

    def close(self) -> None:
        if self._target is not None:
            self._target.close()

    def _record(self, act: str, fault: Fault, do: Callable[[], Injected]) -> Injected:
        return self._tape.call(CLUSTER, act, msgspec.to_builtins(fault), Injected, do)

    def _require_injector(self) -> Injector:
        if self._injector is None:
            raise KitError("a stored history has no cluster")
        return self._injector
