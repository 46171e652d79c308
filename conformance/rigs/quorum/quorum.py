"""A running cluster's metadata quorum, read without changing it."""

from collections.abc import Callable
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.cluster import Moment
from conformance.core.topologies import CONTROLLERS
from conformance.judging.excuses import ELECTED_MEANWHILE, STATE_BEHIND
from conformance.judging.facts.quorum import EPOCHS, QUORUM_STATE, Stored, stored_in
from fixtures.cluster.config import CONTROLLER_PORT
from fixtures.views.quorum import leader_known_to
from fixtures.wire import NodeClient
from history.readings import File
from protocol.codes import Error
from protocol.log import LeaderAndEpoch
from protocol.quorum import Listener, QuorumAnswer, RaftAnswer
from protocol.since import since

A = TypeVar("A")

Role = Literal["leader", "follower"]

FIRST_SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
LISTENER = "CONTROLLER"

OLD_EPOCHS = 4
"""The number of older epochs that requests can name: a shared quorum is in a higher epoch."""

GHOSTS = range(7000, 8000)
"""Ids of non-existent observers with which probes fetch; a leader lists each for five minutes."""

FAR = 1 << 40
"""An offset beyond the end of any log of the kit."""

TRIES = 3

WRITTEN_WITHIN = 2.0
"""The seconds for which a read of quorum-state waits for a write that is overdue."""


class NotStored(Stored, frozen=True, eq=False):
    """A missing or unreadable quorum-state, which equals no other, not even a missing one."""


def stored_or_not(file: File) -> Stored:
    """Return the fields of a quorum-state file; NotStored if it is missing or damaged."""
    return stored_in(file.content) or NotStored(leader_id=-2, leader_epoch=-2, voted_id=-2)


class ControllerCondition(msgspec.Struct, frozen=True):
    """A controller's own answer about leader and epoch, and its quorum-state (None if its disk was not read)."""

    reported: LeaderAndEpoch
    stored: Stored | None


class VoterCondition(ControllerCondition, frozen=True):
    """A controller's condition with its quorum-state."""

    stored: Stored

    @property
    def is_behind(self) -> bool:
        """True if quorum-state is of an earlier epoch than the answer, or lacks the leader of the same epoch."""
        named, stored = self.reported, self.stored.leader
        lacks = stored.leader_epoch == named.leader_epoch and stored.leader_id < 0 <= named.leader_id
        return lacks or stored.leader_epoch < named.leader_epoch


def written_condition(bench: Bench, read: Callable[[], Stored], ask: Callable[[], LeaderAndEpoch]) -> VoterCondition:
    """Read a voter's quorum-state and ask it for leader and epoch; if the file is behind the answer, wait for the write.

    A write that is late breaks KIP595-QS-02, whose checks read the file once, and is no effect of a later request. The
    reads themselves are judged by KIP595-INV-02.
    """

    def look() -> VoterCondition:
        stored = read()
        return VoterCondition(ask(), stored)

    found = look()
    if found.is_behind:
        bench.count_excuse(STATE_BEHIND)
        bench.wait.becomes_true(lambda: not look().is_behind, "the write of a quorum-state", WRITTEN_WITHIN)
        found = look()
    return found


class Tried(NamedTuple, Generic[A]):
    """An answer, and the controller's condition before and after it."""

    before: ControllerCondition
    answer: A
    after: ControllerCondition

    @property
    def is_unchanged(self) -> bool:
        return self.before == self.after

    @property
    def leader(self) -> LeaderAndEpoch:
        """The leader and epoch that the answer must have: those before the request, from disk if it was read."""
        return self.before.stored.leader if self.before.stored else self.before.reported


class EpochStart(msgspec.Struct, frozen=True):
    """A line of leader-epoch-checkpoint."""

    epoch: int
    start: int


class QuorumData(msgspec.Struct, frozen=True):
    cluster_id: str


class Quorum:
    """The controllers, by name or role. Roles are looked up each time, since leaders move."""

    def __init__(self, bench: Bench, data: QuorumData) -> None:
        self.bench = bench
        self.cluster_id = data.cluster_id
        self.controllers = bench.controllers

    def client(self, name: str, purpose: str = "") -> NodeClient:
        return self.bench.node(name, controller=True, purpose=purpose)

    # --- its state

    def reported_leader(self, name: str) -> LeaderAndEpoch:
        """Return leader and epoch as the controller reports them; -1 for an unknown leader."""
        return leader_known_to(self.client(name), self.peer_of(name), self.cluster_id)

    def agreed_leader(self) -> LeaderAndEpoch:
        """Return the leader and epoch on which all controllers agree."""

        known = {self.bench.id_of(name) for name in self.controllers}

        def leader_if_agreed() -> LeaderAndEpoch | None:
            answers = {self.reported_leader(name) for name in self.controllers}
            first = answers.pop()
            return first if not answers and first.leader_id in known else None

        return self.bench.eventually(leader_if_agreed, "all controllers naming one leader and epoch", due="quorum")

    def quorum_state(self, name: str) -> Stored:
        return stored_or_not(self.bench.read_file(name, QUORUM_STATE))

    def condition(self, name: str, disk: bool = True) -> ControllerCondition:
        """Read the controller's quorum-state, then its answer."""
        if not disk:
            return ControllerCondition(self.reported_leader(name), None)
        return written_condition(self.bench, lambda: self.quorum_state(name), lambda: self.reported_leader(name))

    def epochs(self) -> list[EpochStart]:
        """Return the epochs and start offsets of the leader's log, from its disk. Raises Overdue if there are none."""

        def read() -> list[EpochStart]:
            content = self.bench.read_file(self.one("leader"), EPOCHS).content or b""
            return [EpochStart(*map(int, line.split())) for line in content.decode().split("\n")[2:] if line]

        return self.bench.eventually(lambda: read() or None, f"epochs in {EPOCHS} of the leader")

    def first_snapshot(self) -> list[EpochStart]:
        """Return epoch 0 at offset 0 if the leader's log begins with the snapshot `0-0`, which formatting writes from
        4.4 on; else empty."""
        found = self.bench.read_file(self.one("leader"), FIRST_SNAPSHOT)
        return [EpochStart(0, 0)] if found.content is not None else []

    def describe_by_leader(self) -> QuorumAnswer:
        """Return the leader's own answer to DescribeQuorum, with itself among the voters. Raises Overdue if none."""

        def answer_of_leader() -> QuorumAnswer | None:
            answer = self.client(self.one("leader")).describe_quorum()
            return answer if any(v.replica_id == answer.leader_id for v in answer.current_voters) else None

        return self.bench.eventually(
            answer_of_leader, "a leader that describes itself among the voters", due="quorum description"
        )

    def await_fetches(self, name: str) -> None:
        """Wait until a follower has sent two more fetches. It sends each after the answer to the one before, so by then its
        leader has served it since it began to follow."""
        own, sent = self.bench.id_of(name), set[int]()

        def has_fetched() -> bool:
            voters = self.describe_by_leader().current_voters
            sent.update(voter.last_fetch_timestamp for voter in voters if voter.replica_id == own)
            return len(sent) > 2

        self.bench.eventually(has_fetched, f"two more fetches of {name}", due="next fetch")

    # --- roles

    def one(self, role: Role) -> str:
        leader = self.bench.name_of(self.agreed_leader().leader_id)
        return leader if role == "leader" else self.followers()[0]

    def followers(self) -> list[str]:
        leader = self.agreed_leader().leader_id
        return [name for name in self.controllers if self.bench.id_of(name) != leader]

    def any(self, number: int) -> str:
        return self.controllers[number % len(self.controllers)]

    def peer_of(self, name: str) -> int:
        """Return the id of another voter."""
        return next(self.bench.id_of(other) for other in self.controllers if other != name)

    def address(self, id: int) -> tuple[str, int]:
        return self.bench.name_of(id), CONTROLLER_PORT

    def endpoints(self, id: int, version: int) -> tuple[Listener, ...]:
        """Return the leader endpoints of a voter in a request of this version."""
        return (
            (Listener(LISTENER, *self.address(id)),)
            if version >= since("BeginQuorumEpochRequest", "LeaderEndpoints")
            else ()
        )

    def version(self, api: str, older: int = 0, at_least: int = 0) -> int:
        """Return the version of a raft API that is `older` versions below the newest one that controllers declare."""
        return max(self.bench.column.ranges[f"controller.{api}"] - older, at_least)

    # --- requests

    def attempt(self, name: str, ask: Callable[[LeaderAndEpoch], A], *, disk: bool = True) -> Tried[A]:
        """Send a request to a settled quorum; `ask` gets its leader and epoch. With `disk` False quorum-state is not
        read.

        A spontaneous election would look like an effect of the request. So if the node's answer has changed and the
        whole quorum has a leader of a later epoch, the request is tried again, which is counted; a change in each of
        three tries is taken for an effect of the request.
        """
        tried = self._attempt(name, ask, disk)
        for _ in range(TRIES - 1):
            epoch = tried.before.reported.leader_epoch
            if tried.after.reported == tried.before.reported or self.agreed_leader().leader_epoch <= epoch:
                break
            self.bench.count_excuse(ELECTED_MEANWHILE)
            tried = self._attempt(name, ask, disk)
        return tried

    def _attempt(self, name: str, ask: Callable[[LeaderAndEpoch], A], disk: bool) -> Tried[A]:
        def condition_if_agreed() -> ControllerCondition | None:
            settled = self.agreed_leader()
            before = self.condition(name, disk)
            return before if before.reported == settled else None

        before = self.bench.eventually(
            condition_if_agreed, f"{name} naming the leader of all controllers", due="quorum"
        )
        return Tried(before, ask(before.reported), self.condition(name, disk))


def leader_in(answer: RaftAnswer) -> LeaderAndEpoch:
    return LeaderAndEpoch(answer.leader_id, answer.leader_epoch)


def ms_between(began: Moment, ended: Moment) -> float:
    """Return the milliseconds between two moments."""
    return (ended.seconds - began.seconds) * 1000


def cluster_id_of(bench: Bench) -> str:
    """Return the cluster id in the meta.properties of a controller's disk."""
    lines = bench.read_file(bench.controllers[0], "meta.properties").text.splitlines()
    return next(line.removeprefix("cluster.id=") for line in lines if line.startswith("cluster.id="))


def skipped_epochs(log: list[EpochStart]) -> list[int]:
    """Return the epochs without records between a log's first and last: elections without a winner."""
    known = {line.epoch for line in log}
    return [epoch for epoch in range(log[0].epoch, log[-1].epoch) if epoch not in known]


def prepare_quorum(bench: Bench) -> QuorumData:
    """Prepare a settled quorum with several past epochs, some without records in the log."""
    quorum = Quorum(bench, QuorumData(cluster_id_of(bench)))
    before = quorum.agreed_leader()
    if before.leader_epoch <= OLD_EPOCHS or not skipped_epochs(quorum.epochs()):
        _raise_epoch(quorum, before)
    what = "the quorum's leader having a high watermark that brokers can ask for"
    bench.eventually(lambda: _quorum_serves(quorum), what, due="quorum")
    return QuorumData(quorum.cluster_id)


def _raise_epoch(quorum: Quorum, before: LeaderAndEpoch) -> None:
    """Make the leader give up its epoch for a later one, by a candidate with an empty log that cannot win."""
    leader = quorum.bench.name_of(before.leader_id)
    epoch = before.leader_epoch + OLD_EPOCHS
    quorum.client(leader).vote(
        quorum.peer_of(leader), epoch, last_offset=0, last_offset_epoch=0, cluster_id=quorum.cluster_id, version=0
    )
    what = f"an election after epoch {epoch}"
    quorum.bench.eventually(lambda: quorum.agreed_leader().leader_epoch >= epoch, what, due="quorum")


def _quorum_serves(quorum: Quorum) -> bool:
    own = quorum.describe_by_leader()
    asked = [quorum.bench.node(broker).describe_quorum() for broker in quorum.bench.brokers]
    in_log = quorum.epochs()[-1].epoch == own.leader_epoch
    return in_log and all(
        a.error is Error.NONE and a.high_watermark >= 0 and a.leader_id == own.leader_id for a in asked
    )


QUORUM = Rig(CONTROLLERS, prepare_quorum, Quorum, shared=True)
"""A settled quorum of three, for read-only requests."""
