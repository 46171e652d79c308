"""The processes of named nodes. Checks kill, stop, freeze and start them as recorded faults with witness and healing."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType

import msgspec

from conformance.core.cluster import Cluster
from conformance.core.faulting import record_fault
from fixtures.cluster import NodeState
from fixtures.cluster.config import UNCHANGED, Settings
from fixtures.faults.kinds.process import Expend, Freeze, Kill, ProcessFault, Stop
from fixtures.tape import Tape
from history.events import ProcessEnd
from protocol.errors import KitError

NOTHING: Mapping[str, object] = MappingProxyType({})
STOP_TIMEOUT = 30
"""Seconds after which a controlled shutdown is ended by SIGKILL."""


class ActionResult(msgspec.Struct, frozen=True):
    """The node's state after an action, as the engine reports it."""

    state: NodeState
    started_at: str = ""


class Fate(msgspec.Struct, frozen=True):
    """The fate of an expended node's process: how it ended, and None while it runs."""

    end: ProcessEnd | None


class Processes:
    """The nodes' processes. After the example, everything that a check left broken is healed."""

    def __init__(self, tape: Tape, live: Callable[[], Cluster]) -> None:
        self._tape = tape
        self._require_cluster = live
        self._broken: dict[str, ProcessFault] = {}

    @property
    def are_broken(self) -> bool:
        """True if a node that the check ended or froze does not run again yet."""
        return bool(self._broken)

    def is_frozen(self, name: str) -> bool:
        """True if the check has frozen the node, and not resumed it."""
        return isinstance(self._broken.get(name), Freeze)

    def kill(self, name: str, role: str = "") -> ActionResult:
        """Send SIGKILL. The fault is witnessed when the engine reports that the process has ended."""
        return self._break(Kill(role=role or name), "kill", name)

    def crash(self, *names: str) -> dict[str, NodeState]:
        """Send SIGKILL to several nodes in parallel, so that none notices another's end."""
        faults = {name: Kill(role=name) for name in names}
        for name, fault in faults.items():
            self._inject(fault, name)

        def act() -> dict[str, NodeState]:
            nodes = {name: self._require_cluster().node(name) for name in names}
            self._require_cluster().run_in_parallel([partial(fault.act, nodes[name]) for name, fault in faults.items()])
            return {name: node.state() for name, node in nodes.items()}

        states = self._tape.call("cluster", "crash", {"nodes": list(names)}, dict[str, NodeState], act)
        for name, fault in faults.items():
            self._witness(fault, name, states[name])
        return states

    def stop(self, name: str, role: str = "") -> ActionResult:
        """Shut the node down and wait for the end of its process."""
        return self._break(Stop(role=role or name, within=STOP_TIMEOUT), "stop", name)

    def terminate(self, name: str) -> ActionResult:
        """Begin a controlled shutdown without waiting for its end; `stop` waits for it."""
        return self._record_action("terminate", name, lambda: self._require_cluster().node(name).terminate())

    def pause(self, name: str, role: str = "") -> ActionResult:
        """Freeze the node: its connections stay open, and it answers nothing."""
        return self._break(Freeze(role=role or name), "pause", name)

    def resume(self, name: str) -> ActionResult:
        """Resume a frozen node."""
        return self._heal_process("resume", name, Freeze(role=name))

    def start(self, name: str) -> ActionResult:
        """Start a node that was killed or stopped, without waiting until it is ready."""
        return self._heal_process("start", name, Kill(role=name))

    @contextmanager
    def down(self, name: str, role: str = "") -> Iterator[ActionResult]:
        """Kill the node, and start it again at the end of the block in any case."""
        done = self.kill(name, role)
        try:
            yield done
        finally:
            self.start(name)

    # --- nodes that may end by themselves

    def expend(self, name: str, *, down: bool = False) -> None:
        """Declare that the node's process may end by itself from now on, or end it (`down`). After the example, if not before,
        the node is created again with an empty disk."""
        fault = Expend(role=name)
        self._inject(fault, name)
        if down:
            self._witness(fault, name, self.kill_expended(name).state)

    def fate(self, name: str) -> ProcessEnd | None:
        """Return how an expended node's process ended; None while it runs."""
        return self._tape.call(
            name, "fate", {}, Fate, lambda: Fate(self._require_cluster().container(name).last_end())
        ).end

    def try_start(self, name: str, settings: Settings = UNCHANGED) -> ActionResult:
        """Start an expended node that is down, on its disk and with these settings in addition to its own. It may refuse."""
        request = {"settings": dict(settings)}
        return self._record_action(
            "try_start", name, lambda: self._require_cluster().container(name).start_with(settings), request
        )

    def write_file(self, name: str, path: str, content: bytes) -> None:
        """Write a file below the data directory of an expended node that is down."""
        self._record_action(
            "write_file",
            name,
            lambda: self._require_cluster().write_file(name, path, content),
            {"path": path, "content": content.decode(errors="replace")},
        )

    def remove_file(self, name: str, path: str) -> None:
        """Remove a file below the data directory of an expended node that is down."""
        self._record_action(
            "remove_file",
            name,
            lambda: self._require_cluster().remove_file(name, path),
            {"path": path},
        )

    def kill_expended(self, name: str) -> ActionResult:
        """Send SIGKILL to an expended node, which may be started on its disk again."""
        return self._record_action("kill", name, lambda: self._require_cluster().node(name).kill())

    def renew(self, name: str, settings: Settings = UNCHANGED, cluster_id: str = "") -> ActionResult:
        """Create an expended node again, as at its first start, with these settings in addition to its own, and with a disk that
        may be formatted for another cluster. If it has either, it stays expended."""
        if not settings and not cluster_id:
            return self._heal_process("renew", name, Expend(role=name))
        request = {"settings": dict(settings), "cluster_id": cluster_id}
        return self._record_action(
            "renew", name, lambda: self._require_cluster().container(name).renew(settings, cluster_id), request
        )

    def heal_all(self) -> None:
        """Bring back all nodes that the check left down or frozen. Raises KitError."""
        back = {Freeze: self.resume, Expend: self.renew}
        for name, fault in list(self._broken.items()):
            back.get(type(fault), self.start)(name)

    def stopped_or_frozen(self, names: Iterable[str]) -> list[str]:
        """Return the nodes that the engine reports as stopped or frozen; they answer no request.

        A check must not use it if its stored histories are judged again by running the check.
        """
        return [name for name in names if self._require_cluster().node(name).state() != "running"]

    def _break(self, fault: ProcessFault, action: str, name: str) -> ActionResult:
        """Inject the fault into the named node, as a call `action` on the tape."""
        self._inject(fault, name)
        done = self._record_action(action, name, lambda: fault.act(self._require_cluster().node(name)))
        self._witness(fault, name, done.state)
        return done

    def _inject(self, fault: ProcessFault, name: str) -> None:
        record_fault(self._tape, fault, "inject", node=name)
        self._broken[name] = fault

    def _witness(self, fault: ProcessFault, name: str, state: NodeState) -> None:
        if state != fault.expected_state:
            raise KitError(
                f"{fault.name} of {name} shows no effect: the engine reports {state}, not {fault.expected_state}"
            )
        record_fault(self._tape, fault, "witness", node=name, detail={"state": state})

    def _heal_process(self, action: str, name: str, usual: ProcessFault) -> ActionResult:
        """Heal the recorded fault of the node. If there is none, heal `usual`, the kind that an earlier example or a shared rig
        leaves behind."""
        fault = self._broken.get(name, usual)
        done = self._record_action(action, name, lambda: fault.undo(self._require_cluster().node(name)))
        if done.state != "running":
            raise KitError(f"{action} of {name} did not bring it back: the engine reports {done.state}")
        self._broken.pop(name, None)
        record_fault(self._tape, fault, "heal", node=name, detail={"started_at": done.started_at})
        return done

    def _record_action(
        self, action: str, name: str, do: Callable[[], None], request: Mapping[str, object] = NOTHING
    ) -> ActionResult:
        def act() -> ActionResult:
            do()
            node = self._require_cluster().node(name)
            return ActionResult(node.state(), node.started_at())

        return self._tape.call(name, action, dict(request), ActionResult, act)
