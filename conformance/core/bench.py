"""The bench: what a check works with. Its clients, its waits and its faults all pass through one tape.

>>> from fixtures.faults.kinds.process import Kill
>>> from protocol.messages import Topic
>>> from protocol.topics import NewTopic
>>> [created] = bench.node("broker-1").create_topics([NewTopic(bench.fresh_name("orders"), ((1, 2, 3),))]).topics
>>> def leader():
...     "The leader as broker 2 knows it."
...     [topic] = bench.node("broker-2").metadata([created.name]).topics
...     return topic.partitions[0].leader if topic.partitions else None
>>> bench.eventually(leader, "a leader of orders")
1
>>> with bench.faults(Topic(created.name, created.topic_id)).standing_fault(Kill(role="leader")) as injected:
...     bench.eventually(lambda: leader() != 1, "another leader")
True
>>> injected.nodes, sorted({call.op for call, _ in bench.tape.history.answered_calls()})
(['broker-1'], ['create_topics', 'heal', 'inject', 'metadata'])
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any, Literal, TypeVar

import msgspec

from conformance.core.cluster import Cluster, Moment, on_threads
from conformance.core.damaging import Disk
from conformance.core.faulting import Faults
from conformance.core.processes import Processes
from conformance.core.waiting import MIN_LASTING_TIMEOUT, WITHIN, Waiting, events_of_wait
from conformance.judging.excuses import Evidence
from fixtures import metrics
from fixtures.cluster import Peers
from fixtures.cluster.topology import Member
from fixtures.consumers import Consumer
from fixtures.copying import CopyingClient
from fixtures.disk.registrations import latest_registration
from fixtures.librdkafka import GroupClient, GroupProtocol
from fixtures.producers import KafkaPythonProducer, close_all
from fixtures.tape import Tape
from fixtures.views.nodes import answers_in_turn
from fixtures.views.quorum import leader_known_to
from fixtures.waiting import Overdue, eventually, overdue_in
from fixtures.wire import NodeClient
from fixtures.wire.retriable import error_of
from history import readings
from history.due import Due
from history.events import Ended
from history.shards import Column
from protocol.codes import Error
from protocol.errors import KitError
from protocol.log import LeaderAndEpoch
from protocol.messages import Answer, Operation, Topic
from protocol.words import say

T = TypeVar("T")
A = TypeVar("A", bound=Answer)

MIN_CONTROLLERS = 3
"""The minimum number of controllers for reading the quorum: fewer cannot lose one and go on."""

ClientKey = tuple[str, bool, str, str]
"""A client's key: the name of its node, True for the controller listener, its purpose, and its user if that is not the kit's own.
The last two are empty for a client that is lent."""


class Bench:
    """Access to one cluster for one example.

    `clients` are passed on from example to example, so that connections are reused. With a stored tape there is no cluster: every
    answer comes from the tape.
    """

    def __init__(
        self,
        tape: Tape,
        column: Column,
        members: list[Member],
        cluster: Cluster | None,
        clients: dict[ClientKey, NodeClient] | None = None,
    ) -> None:
        self.tape = tape
        self.processes = Processes(tape, self._require_cluster)
        self.wait = Waiting(tape, cluster)
        self.column = column
        self.members = {member.name: member for member in members}
        self._cluster = cluster
        self._lent = clients if clients is not None else {}
        self._own: dict[ClientKey, NodeClient] = {}
        self._names = 0
        self._consumers: list[Consumer] = []
        self._group_clients: list[GroupClient] = []
        self._copying: dict[str, CopyingClient] = {}
        self._producers: list[KafkaPythonProducer] = []
        self._faults: list[Faults] = []
        self.excuses: list[Evidence] = []
        """The rig's excuses, counted for the row and case of its check."""

    @staticmethod
    def members_of(stored: list[dict[str, Any]]) -> list[Member]:
        """Return the cluster's nodes as recorded in an example."""
        return msgspec.convert(stored, list[Member])

    # --- nodes and clients

    @property
    def brokers(self) -> list[str]:
        return [name for name, member in self.members.items() if member.is_broker]

    @property
    def controllers(self) -> list[str]:
        return [name for name, member in self.members.items() if member.is_controller]

    def name_of(self, id: int) -> str:
        """Return the name of the node with this id. Raises KitError if the cluster has no such node."""
        for member in self.members.values():
            if member.id == id:
                return member.name
        raise KitError(f"no node has id {id}; the cluster has {say(sorted(m.id for m in self.members.values()))}")

    def id_of(self, name: str) -> int:
        return self.members[name].id

    def node(self, name: str | int, *, controller: bool = False, purpose: str = "", user: str = "") -> NodeClient:
        """Return the client of a node, given by name or id.

        It connects to the broker listener, or to the controller listener if `controller` is set or the node is no broker. Each
        `purpose` has its own client, and so its own connection, and so has each `user` who logs in instead of the kit's own.
        """
        name = self.name_of(name) if isinstance(name, int) else name
        controller = controller or not self.members[name].is_broker
        key = (name, controller, purpose, user)
        held = self._own if purpose or user else self._lent
        if key not in held:
            held[key] = self._client(name, controller)
            held[key].user = user or held[key].user
        held[key].tap = self.tape
        return held[key]

    def reachable(self, names: Iterable[str]) -> list[str]:
        """Return all of these names, since the history records which nodes answer. Those that the check has frozen come last:
        each would keep it waiting for as long as a request may take."""
        return sorted(names, key=self.processes.is_frozen)

    def answers(self, names: Iterable[str], ask: Callable[[str], T]) -> dict[str, T]:
        """Return the result of `ask` for each name, in order, except for names for which it raises WireError."""
        return answers_in_turn(names, ask)

    def at_most(self, client: NodeClient, api: str, version: int) -> int:
        """Return `version`, or the highest version that the column's brokers offer for this API if that is lower."""
        return min(version, self.column.ranges[api])

    def _client(self, name: str, controller: bool) -> NodeClient:
        # A combined node has one name for both listeners, so the tape tells them apart by the client's name.
        known_as = f"{name}/controller" if controller and self.members[name].is_broker else name
        if self._cluster is None:
            return NodeClient(known_as, "", 0, None, self.tape)  # type: ignore[arg-type]
        client = self._cluster.client(name, self.tape, controller=controller)
        client.node = known_as
        return client

    @property
    def peers(self) -> Peers:
        """The voters that the kit plays."""
        return Peers(self.tape, self._cluster.peers if self._cluster else None)

    def close(self) -> None:
        """Close everything that this bench opened; lent clients are kept for the next example."""
        close_all([*self._consumers, *self._group_clients, *self._copying.values()])
        if errors := close_all(self._producers):
            self.tape.note("producers did not close", {"errors": errors})
        for client in self._own.values():
            client.close()
        for faults in self._faults:
            faults.close()

    def consumer(
        self, name: str, group: str | None = None, rack: str | None = None, brokers: Sequence[str] = ()
    ) -> Consumer:
        """Return a kafka-python consumer that bootstraps from these brokers (by default all) and is closed with the bench. Checks
        whose stored histories are judged again by running them must not use it."""
        self._consumers.append(self._require_cluster().consumer(name, brokers or self.brokers, self.tape, group, rack))
        return self._consumers[-1]

    def group_client(
        self, name: str, group: str, protocol: GroupProtocol, brokers: Sequence[str] = (), instance_id: str = ""
    ) -> GroupClient:
        """Return a consumer of librdkafka that is a member of a group, like `consumer`. Raises ConsumerTrouble."""
        made = self._require_cluster().group_client(
            name, brokers or self.brokers, self.tape, group, protocol, instance_id
        )
        self._group_clients.append(made)
        return made

    def producer(
        self, name: str, transactional_id: str | None = None, brokers: Sequence[str] = ()
    ) -> KafkaPythonProducer:
        """Return a kafka-python producer, like `consumer`. Raises ProducerTrouble if none of the brokers answers."""
        self._producers.append(
            self._require_cluster().producer(name, brokers or self.brokers, self.tape, transactional_id)
        )
        return self._producers[-1]

    def run_in_parallel(self, actions: Sequence[Callable[[], None]]) -> None:
        """Run all actions in parallel, each with its own clients. Raises the error of any of them."""
        (on_threads if self._cluster is None else self._cluster.run_in_parallel)(actions)

    # --- names, time, tape

    def fresh_name(self, prefix: str) -> str:
        """Return a new name for a topic, group or transactional id."""
        self._names += 1
        return f"{prefix}-{self.tape.example.example}-{self._names}"

    def now(self) -> Moment:
        return self.tape.call("kit", "now", {}, Moment, lambda: self._require_cluster().now())

    def eventually(
        self,
        probe: Callable[[], T | None],
        what: str,
        within: float = WITHIN,
        every: float | None = None,
        due: Due | None = "step",
    ) -> T:
        """Return the first result of `probe` that is neither None nor False, like `fixtures.waiting.eventually`, and record the
        number of tries.

        A check mostly waits for an effect that the tested system owes; `due=None` means that it owes nothing.
        """
        if self._cluster is None:
            return eventually(probe, within=within, what=what, every=0.0)
        with events_of_wait(self.tape):
            return self._cluster.eventually(probe, what, within, every, due)

    def require(self, answer: A, due: Due, lasts: float) -> A:
        """Return the answer to a request that must be granted. Raises Overdue if it is refused.

        `lasts` is the sender's transaction or session timeout in seconds, which may pass while the kit is starved of CPU. If it
        is short, or a fault is active, the tested system does not owe the answer.
        """
        if error_of(answer) is Error.NONE:
            return answer
        owed = None if lasts < MIN_LASTING_TIMEOUT or self._is_disturbed() else due
        text = f"a request that has to succeed was refused: {answer}"
        raise Overdue(text, due=owed, within=lasts, late=self.wait.seconds_late(lasts))

    def count_excuse(self, evidence: Evidence) -> None:
        """Count an excuse, such as a retry, while a rig is prepared."""
        self.excuses.append(evidence)

    def malformed_requests(self, how: str) -> AbstractContextManager[None]:
        """Mark the requests within the block as deliberately malformed; the law of internal errors ignores them."""
        return self.tape.malformed_requests(how)

    # --- faults

    def faults(self, topic: Topic, index: int = 0, *, group: str = "", transactional_id: str = "") -> Faults:
        """Return faults aimed at the nodes around a partition: its leader, its followers, and the coordinators of the given group
        and transactional id."""
        names = {"group": group, "transactional_id": transactional_id}
        self._faults.append(
            Faults(self.tape, None) if self._cluster is None else self._cluster.faults(self.tape, topic, index, **names)
        )
        return self._faults[-1]

    def record_failure(self, trouble: BaseException) -> None:
        """Record what an error shows about the tested system: an exceeded time limit, or processes that ended."""
        if self._cluster is None:
            return
        overdue = overdue_in(trouble)
        if overdue is not None and overdue.due is not None:
            self.wait.note_host_pressure(overdue.late)
            self.tape.overdue(overdue.due, str(overdue), overdue.within, overdue.late, overdue.events)
        known = {event.node for event in self.tape.history.events if isinstance(event, Ended)}
        for name, end in self._cluster.process_ends().items():
            if name not in known:
                self.tape.note_end(name, end)

    def _is_disturbed(self) -> bool:
        """True if one of the check's faults is still active."""
        return self.processes.are_broken or any(faults.any_standing for faults in self._faults)

    def heal_all(self) -> None:
        """Undo what the check left broken: active faults, and nodes that are down or frozen. Raises KitError."""
        for faults in self._faults:
            faults.heal_all()
        self.processes.heal_all()

    def remaining_damage(self) -> list[str]:
        """Return the damage that the check's faults left behind; empty if there is none."""
        return [line for faults in self._faults for line in faults.blocking_rules()]

    # --- disks and metrics

    def read_file(self, name: str, path: str) -> readings.File:
        """Read a file below the node's data directory."""

        def read() -> readings.File:
            try:
                return readings.File(*self._require_cluster().node(name).dated_file(path))
            except FileNotFoundError:
                return readings.File(None)

        return self.tape.call(name, readings.ReadFile.op, {"path": path}, readings.File, read)

    def metric(self, name: str, metric: str) -> readings.Metric:
        """Return a node's MBean, on a topology with `metrics`."""

        def read() -> readings.Metric:
            return readings.Metric(metrics.find(self._require_cluster().container(name), metric))

        return self._read(name, readings.ReadMetric(metric), read)

    def run_quorum_tool(self, *arguments: str) -> readings.ToolRun:
        """Run the release's `kafka-metadata-quorum`, which reaches nodes by their names."""
        wanted = readings.RunQuorumTool(arguments)
        return self._read("kit", wanted, lambda: self._require_cluster().tools.run_quorum_tool(arguments))

    def start_copying(
        self, name: str, group: str, protocol: GroupProtocol, source: str, target: str
    ) -> readings.CopyStep:
        """Start a client of librdkafka that copies records in transactions, as a member of a group. Closed with the bench."""

        def start() -> readings.CopyStep:
            cluster = self._require_cluster()
            self._copying[name] = cluster.copying_client(name, self.brokers, group, protocol, target)
            return self._copying[name].step(lambda client: client.subscribe([source]))

        return self._read(name, readings.StartCopying(group, protocol, source, target), start)

    def copy_records(self, name: str, do: readings.CopyAct) -> readings.CopyStep:
        """Let a client that copies records take a step."""

        def step() -> readings.CopyStep:
            return self._copying[name].step(lambda client: getattr(client, do)())

        return self._read(name, readings.CopyRecords(do), step)

    def start_java_consumer(self, name: str, *arguments: str) -> readings.ToolRun:
        """Start the release's `VerifiableConsumer`, which reaches nodes by their names and runs until it gets a signal."""
        wanted = readings.StartJavaConsumer(name, arguments)
        return self._read("kit", wanted, lambda: self._require_cluster().tools.start_consumer(name, arguments))

    def read_java_consumer(self, name: str, start: int) -> readings.ToolLines:
        """Return what a `VerifiableConsumer` has written from this byte on."""
        wanted = readings.ReadJavaConsumer(name, start)
        return self._read("kit", wanted, lambda: self._require_cluster().tools.consumer_lines(name, start))

    def signal_java_consumer(self, name: str, signal: Literal["TERM", "KILL", "0"]) -> readings.ToolRun:
        """Send a `VerifiableConsumer` a signal: TERM, on which it leaves its group, KILL, or 0, which asks whether it runs."""
        wanted = readings.SignalJavaConsumer(name, signal)
        return self._read("kit", wanted, lambda: self._require_cluster().tools.signal_consumer(name, signal))

    def replicas(self, hosts: Mapping[str, Sequence[str]]) -> readings.HeldReplicas:
        """Return the replicas of partitions (`topic-0`), read from the disks of the running brokers that host them."""
        wanted = readings.ReadDisks(list(hosts), [list(names) for names in hosts.values()])
        return self._read("cluster", wanted, lambda: self._require_cluster().replicas(hosts))

    def group_records(self, name: str, partition: int, start: int) -> readings.GroupRecords:
        """Return the records of a partition of the offsets topic from an offset on, as its leader `name` serves them."""
        return self._read(
            name,
            readings.ReadGroupLog(partition, start),
            lambda: self._require_cluster().group_records(name, partition, start),
        )

    def disk(self, name: str, partition: str) -> Disk:
        """Return a broker's replica of a partition (`topic-0`) on disk. It can be read, or damaged while the broker is down."""
        return Disk(self.tape, name, partition, lambda: self._require_cluster().container(name))

    def registration_on_disk(self, controller: str, topic: Topic, index: int) -> readings.PartitionRegistration:
        """Return a controller's registration of a partition, read from its log on disk; no broker needs to be running."""
        wanted = readings.ReadRegistration(topic.name, index)
        return self._read(
            controller, wanted, lambda: latest_registration(self._require_cluster().container(controller), topic, index)
        )

    def registrations(self, partitions: Sequence[tuple[Topic, int]]) -> readings.RegistrationHistories:
        """Return all registrations of partitions committed in the controllers' logs on disk."""
        wanted = readings.ReadRegistrations([(topic.name, index) for topic, index in partitions])
        return self._read("cluster", wanted, lambda: self._require_cluster().registrations(partitions))

    def ask_controllers(self) -> None:
        """Ask each running controller for a description of the quorum, and for leader and epoch by a Vote that it rejects.

        Only judges use the answers, so a stored tape does not repeat the requests. Nothing is asked if there are fewer than three
        controllers.
        """
        if self._cluster is None or len(self.controllers) < MIN_CONTROLLERS:
            return
        down = self.processes.stopped_or_frozen(self.controllers)
        up = [name for name in self.controllers if name not in down]
        self.answers(up, lambda name: self.node(name, controller=True).describe_quorum())
        self.answers(up, self._leader_known_to)

    def _leader_known_to(self, name: str) -> LeaderAndEpoch:
        other = next(self.id_of(one) for one in self.controllers if one != name)
        return leader_known_to(self.node(name, controller=True), other, None)

    def read_quorum(self) -> None:
        """Ask the controllers, then read their metadata logs and quorum-state from disk.

        Only judges use the answers, so a stored tape passes over the reads. Nothing is read if there are fewer than three
        controllers.
        """
        if len(self.controllers) < MIN_CONTROLLERS:
            return
        if self._cluster is None:
            self.tape.pass_over(readings.ReadMetadataLog.op)
            return
        self.ask_controllers()
        logs = cache(self._cluster.metadata_logs)
        for name in self.controllers:
            self._read(name, readings.ReadMetadataLog(), partial(_one_of, logs, name))

    def _read(self, node: str, wanted: Operation[T], read: Callable[[], T]) -> T:
        answer: type[T] = wanted.answer
        return self.tape.call(node, wanted.op, msgspec.to_builtins(wanted), answer, read)

    def decode(self, artifacts: Sequence[str], message: str, data: bytes, into: type[T], version: int = 0) -> T:
        """Decode a record or file with the release's own schema, e.g. ``OffsetCommitValue`` of ``kafka-group-coordinator``, from
        the first of the `artifacts`' jars that has it."""

        def decode() -> T:
            return msgspec.convert(self._require_cluster().message(message, artifacts).decode(data, version), into)

        request = {"message": message, "version": version, "data": data.hex()}
        return self.tape.call("kit", "decode", request, into, decode)

    def _require_cluster(self) -> Cluster:
        if self._cluster is None:
            raise KitError("a stored history has no cluster")
        return self._cluster


def _one_of(read: Callable[[], Mapping[str, T]], name: str) -> T:
    return read()[name]
