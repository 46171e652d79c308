"""A frozen voter that a check gives up: it is sent a fatal request, or started with something that it must refuse, and then
replaced by a new voter with an empty disk."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from conformance.core.bench import Bench
from conformance.core.checks import ObservationClaim, Rig, record_only
from conformance.core.topologies import EXPENDABLE_VOTER
from conformance.core.waiting import Settled
from conformance.judging.facts.quorum import Stored
from conformance.rigs.quorum.frozen import Frozen, FrozenData, prepare_frozen
from conformance.rigs.quorum.quorum import cluster_id_of
from fixtures.cluster.config import UNCHANGED, Settings
from fixtures.wire import NodeClient, WireError
from history.due import START_TIMEOUT
from history.events import ProcessEnd
from history.readings import Received
from protocol.log import LeaderAndEpoch

T = TypeVar("T")

ENDS_WITHIN = 5.0
"""Seconds within which a voter that ends itself has ended. One whose raft thread is dead (up to 3.4.0) runs on."""
IMPATIENT = 1.5
"""Seconds after which a request to such a voter is given up: it may never answer."""
PACE = 0.2
RUNS_ON, ENDS, HANGS = "runs on", "ends itself", "runs on without an answer"


class ProcessWatch(NamedTuple):
    """The end of a voter's process, None if it runs on, and the requests that it sent until then."""

    end: ProcessEnd | None
    sent: list[Received]


class Expendable(Frozen):
    """The voter. Once it is given up, requests to it are soon given up, too."""

    def __init__(self, bench: Bench, data: FrozenData) -> None:
        super().__init__(bench, data)
        self._given_up = False

    @property
    def client(self) -> NodeClient:
        if not self._given_up:
            return super().client
        client = self.bench.node(self.name, controller=True, purpose="impatient")
        client.timeout = IMPATIENT
        return client

    def quorum_state(self) -> Stored:
        """Read quorum-state once: the voter may not answer."""
        return self._quorum_state_now()

    def give_up(self, *, down: bool = False) -> None:
        """Declare that the voter may end by itself from now on, or end it (`down`)."""
        self.bench.processes.expend(self.name, down=down)
        self._given_up = True

    def attempt(self, ask: Callable[[], T]) -> T | None:
        """Return the answer to a request; None if there is none."""
        try:
            return ask()
        except WireError:
            return None

    def known_leader(self) -> LeaderAndEpoch | None:
        """Return leader and epoch as the voter reports them; None if it does not answer."""
        return self.attempt(self.reported_leader)

    def fate(self) -> ProcessEnd | None:
        return self.bench.processes.fate(self.name)

    def watch(self, within: float = ENDS_WITHIN, answer: Callable[[Received], object] | None = None) -> ProcessWatch:
        """Watch the voter until it has ended, at most `within` seconds. Its requests stay unanswered without an `answer`."""
        until, sent = self.bench.now().seconds + within, list[Received]()
        while (end := self.fate()) is None and self.bench.now().seconds < until:
            asked = self.peers.receive(within=PACE)
            if asked is not None:
                sent.append(asked)
                if answer is not None:
                    answer(asked)
        return ProcessWatch(end, sent)

    def record_fate(self, seen: ProcessWatch) -> ObservationClaim:
        """Record, never judged, whether the voter's process ended, and whether it answers if it did not."""
        variant = ENDS if seen.end is not None else RUNS_ON if self.known_leader() is not None else HANGS
        code = f", with exit code {seen.end.exit_code}" if seen.end is not None else ""
        return record_only(detail=f"{self.name} {variant}{code}", variant=variant)

    def try_start(self, settings: Settings = UNCHANGED) -> Settled:
        """Start the stopped voter on its disk, with these settings in addition to its own. Return whether, in the time that a
        start may take, it either answers or refuses by ending itself."""
        self.bench.processes.try_start(self.name, settings)
        return self.starts_or_ends()

    def starts_or_ends(self) -> Settled:
        def is_decided() -> bool:
            return self.fate() is not None or self.known_leader() is not None

        return self.bench.wait.becomes_true(is_decided, f"{self.name} starting, or refusing to", START_TIMEOUT)

    def has_refused(self) -> bool:
        """True if the process that was started last has ended with an error. The engine's kill for lack of memory is none."""
        end = self.fate()
        return end is not None and end.exit_code != 0 and not end.out_of_memory


def prepare_expendable(bench: Bench) -> FrozenData:
    """Give the voter the log of the frozen one."""
    return prepare_frozen(bench)


def prepare_bare(bench: Bench) -> FrozenData:
    """Leave the voter as it is."""
    return FrozenData(cluster_id_of(bench))


EXPENDABLE = Rig(EXPENDABLE_VOTER, prepare_expendable, Expendable)
"""A voter with a log, created again after each example in which it was given up."""
BARE = Rig(EXPENDABLE_VOTER, prepare_bare, Expendable)
"""The same without the kit's log, for checks of its start."""
