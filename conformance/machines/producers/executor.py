"""The steps of the producer machine besides the shared ones: requests of producers by role, on replicated partitions."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from functools import singledispatchmethod

from conformance.core.administration import TopicAdministration
from conformance.core.bench import Bench
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent, Roles
from conformance.core.sweeping import Swept, turn_of
from conformance.judging.producers.outcomes import ENDED, MARKED_WITHIN
from conformance.judging.producers.refusals import GIVEN_WITHIN
from conformance.machines.producers.clients import Client, InFlight
from conformance.machines.producers.python import PythonProducers
from conformance.rigs.log.partition import Partition, PartitionData, keep_last
from conformance.rigs.log.quiescence import at_rest, log_start, read_whole
from fixtures.views.producer import LEGACY, TV2
from fixtures.wire import NodeClient, WireError
from protocol.codes import Error
from protocol.errors import KitError
from protocol.groups import NewOffset
from protocol.log import READ_COMMITTED, FetchOptions
from protocol.messages import Topic
from protocol.topics import NewTopic
from strategies import producers as do
from strategies.steps import Step, Sweep

ONE_MORE = 3.0
"""Seconds beyond a bound, so that an answer after it is seen."""


class ProducersExecutor(TopicAdministration[do.ProducerStep]):
    """Runs producer steps on fresh topics: three strict partitions, each led by another broker, and a loose one; with fresh
    transactional ids and a fresh group."""

    def __init__(self, bench: Bench) -> None:
        self.partitions = _new_partitions(bench)
        # The ids tell nothing to the cluster, but for which partition of its log a coordinator keeps them in.
        ids = {name: bench.fresh(name) for name in do.TRANSACTIONAL}
        self._group = bench.fresh("group")
        faults = bench.faults(self.partitions["strict-0"].topic, group=self._group, transactional_id=ids["tv2-1"])
        super().__init__(bench, faults)
        self.topics = {on.rpartition("-")[0]: made.topic for on, made in self.partitions.items()}
        self.roles = Roles(bench, {on: (made.name, made.index) for on, made in self.partitions.items()})
        began = bench.now().unix_ms
        tv2 = TV2 if bench.column.ranges.get("transaction.version", 0) >= 2 else LEGACY
        dialects = {name: tv2 if name.startswith("tv2") else LEGACY for name in do.TRANSACTIONAL}
        self.clients: dict[do.ProducerName, Client] = {
            **{name: Client(bench, self.roles, "", LEGACY, began) for name in do.PLAIN},
            **{name: Client(bench, self.roles, ids[name], dialects[name], began) for name in do.TRANSACTIONAL},
        }
        self._python = PythonProducers(bench, self.roles, named := bench.fresh("python"), began)
        self._after_python = Client(bench, self.roles, named, LEGACY, began)
        """The last instance of kafka-python's transactional id."""
        self._began = began
        self._written = 0
        self._offsets = 0
        self._ends: dict[str, int] = defaultdict(int)
        self._in_flight: list[InFlight] = []

    @singledispatchmethod
    def run(self, step: Step) -> None:
        super().run(step)

    def _value(self) -> bytes:
        self._written += 1
        return f"value {self._written}".encode()

    def _values(self, count: int) -> list[bytes]:
        return [self._value() for _ in range(count)]

    # --- producer ids

    @run.register
    def _(self, step: do.InitProducerId) -> None:
        self.clients[step.producer].init(step.timeout_ms)

    @run.register
    def _(self, step: do.OutlastTimeout) -> None:
        self.clients[step.producer].outlast_timeout()

    @run.register
    def _(self, step: do.BumpEpoch) -> None:
        self.clients[step.producer].bump()

    @run.register
    def _(self, step: do.RaiseEpoch) -> None:
        self.clients[step.producer].raise_epoch(step.to)

    @run.register
    def _(self, step: do.BumpAsFenced) -> None:
        self.clients[step.producer].fenced().bump()

    # --- writing

    @run.register
    def _(self, step: do.Write) -> None:
        partition, node = self.partitions[step.on], self.roles.node(step.on, step.to)
        self.clients[step.producer].write(step.on, partition, node, self._values(step.records))

    @run.register
    def _(self, step: do.WriteToSeveral) -> None:
        with self.roles.one_look():
            node = self.roles.node(step.on, "leader")
            led = {on: one for on, one in self.partitions.items() if self._leads(node, on)}
        self.clients[step.producer].write_to_several(led, node, self._value())

    def _leads(self, node: NodeClient, on: str) -> bool:
        with suppress(Absent):
            return self.bench.name_of(self.roles.state(on).leader) == node.node
        return False

    @run.register
    def _(self, step: do.WriteInFlight) -> None:
        partition, node = self.partitions[step.on], self.roles.node(step.on, "leader")
        sent = self.clients[step.producer].write_in_flight(step.on, partition, node, self._values(step.batches))
        for one in sent:
            self._in_flight.append(one)

    @run.register
    def _(self, step: do.Collect) -> None:
        sent, self._in_flight = self._in_flight, []
        for one in sent:
            with suppress(WireError):
                one.client.collect(one)

    @run.register
    def _(self, step: do.SkipSequence) -> None:
        partition, node = self.partitions[step.on], self.roles.node(step.on, "leader")
        self.clients[step.producer].skip(step.on, partition, node, step.gap, self._value())

    @run.register
    def _(self, step: do.RepeatBatch) -> None:
        partition, node = self.partitions[step.on], self.roles.node(step.on, "leader")
        self.clients[step.producer].repeat(step.on, partition, node, step.back)

    # --- transactions

    @run.register
    def _(self, step: do.CommitOffset) -> None:
        client = self.clients[step.producer]
        commit = client.commit_offset_unadded if step.unadded else client.commit_offset
        commit(self._group, self.roles.coordinator(self._group), self._offset())

    def _offset(self) -> NewOffset:
        """No two requests commit the same."""
        self._offsets += 1
        return NewOffset(self.partitions["strict-0"].topic, 0, offset=self._offsets)

    @run.register
    def _(self, step: do.EndTransaction) -> None:
        self.run(do.Collect())
        self.clients[step.producer].end(self.partitions, commit=step.commit)

    @run.register
    def _(self, step: do.EndNothing) -> None:
        self.clients[step.producer].end_nothing(commit=step.commit)

    @run.register
    def _(self, step: do.SendAsFenced) -> None:
        fenced, partition = self.clients[step.producer].fenced(), self.partitions[step.on]
        if step.seen:
            self.run(do.Write(producer=step.producer, on=step.on))
        match step.request:
            case "produce":
                fenced.write(step.on, partition, self.roles.node(step.on, "leader"), self._value(), self._began)
            case "add-partitions":
                fenced.producer.add(partition)
            case "add-offsets":
                fenced.producer.add_offsets(self._group)
            case "commit-offset":
                coordinator = self.roles.coordinator(self._group)
                fenced.producer.commit_offsets(self._group, [self._offset()], coordinator=lambda: coordinator)
            case "commit" | "abort":
                fenced.producer.finish(step.request == "commit")

    # --- kafka-python's producers

    @run.register
    def _(self, step: do.PythonWrite) -> None:
        self._python.write(step.producer, self.partitions[step.on], self._values(step.records))

    @run.register
    def _(self, step: do.PythonFlush) -> None:
        self._python.flush(step.producer)

    @run.register
    def _(self, step: do.PythonCommitOffset) -> None:
        self._python.commit_offset(self._group, self._offset())

    @run.register
    def _(self, step: do.PythonEnd) -> None:
        self._python.end(commit=step.commit)

    @run.register
    def _(self, step: do.PythonReopen) -> None:
        self._python.reopen(step.producer)

    # --- reading

    @run.register
    def _(self, step: do.FetchCommitted) -> None:
        node = self.roles.node(step.on, step.role)
        start = log_start(self.partitions[step.on], node)
        self._fetch(step.on, node, start if step.back is None else max(start, self._ends[step.on] - step.back))

    def _fetch(self, on: str, node: NodeClient, offset: int) -> None:
        partition, epoch = self.partitions[on], self.roles.epoch(on)
        answer = node.fetch(
            partition.at(offset, current_leader_epoch=epoch), FetchOptions(isolation_level=READ_COMMITTED)
        )
        self._ends[on] = max(self._ends[on], answer.high_watermark)

    @run.register
    def _(self, step: do.Describe) -> None:
        for client in self._transactional:
            with suppress(WireError, Absent):
                client.coordinator().describe_transaction(client.producer.transactional_id)
        for broker in self.roles.running():
            with suppress(WireError):
                self.bench.node(broker).list_transactions()
                self._describe_producers(self.bench.node(broker))

    def _describe_producers(self, node: NodeClient) -> None:
        for partition in self.partitions.values():
            node.describe_producers(partition.name, partition.index)

    @run.register
    def _(self, step: do.DeleteRecords) -> None:
        node, partition = self.roles.node(step.on, "leader"), self.partitions[step.on]
        keep_last(partition, node, step.keep)

    def read_everything(self) -> None:
        """The full log of every running replica, and what it shows to a read_committed consumer; and which replicas may lead."""
        self.roles.describe_eligible()
        for on, partition in self.partitions.items():
            with suppress(Absent):
                state = self.roles.state(on)
                for id in filter(self.roles.is_running, state.replicas):
                    with suppress(WireError):
                        self._read(on, partition, self.bench.node(id), state.leader_epoch)

    def _read(self, on: str, partition: Partition, node: NodeClient, epoch: int) -> None:
        read_whole(partition, node, epoch)
        self._fetch(on, node, log_start(self.partitions[on], node))

    # --- faults

    def around(self, on: str) -> tuple[Topic, int]:
        return self.partitions[on].topic, self.partitions[on].index

    def before_fault(self) -> None:
        self.roles.remember_leaders()

    def after_fault(self) -> None:
        self.roles.refresh()
        self.roles.describe_eligible()

    # --- rest

    def before_rest(self, *, healed: bool) -> None:
        """Producers end: what is open is aborted, and a last instance of each transactional id fences the others."""
        self.run(do.Collect())
        for client in self.clients.values():
            with suppress(*UNANSWERED, Absent):
                client.end(self.partitions, commit=False)
        self._python.settle()
        if healed:
            self.bench.wait.comes_true(
                self._all_begun, "a last instance of each transactional id", GIVEN_WITHIN + ONE_MORE
            )

    def _all_begun(self) -> bool:
        """No coordinator gives a producer id before the markers of the transaction before are written."""
        known = [one for one in self._transactional if one.producer.epoch >= 0]
        known += [self._after_python] if self._python.has_begun(do.PYTHON_TRANSACTIONAL) else []
        begun = [self._begins(one) for one in known]
        return all(begun)

    def _begins(self, client: Client) -> bool:
        with suppress(*UNANSWERED, Absent):
            if not client.closed:
                client.init()
                client.closed = True
            return True
        return False

    def agrees(self) -> bool:
        return at_rest(*self.partitions.values())

    def at_rest(self) -> None:
        self.bench.wait.comes_true(self._all_ended, "no transaction is open", MARKED_WITHIN)
        with self.roles.one_look():
            self.run(do.Describe())
            with suppress(*UNANSWERED, Absent):
                wanted = [(one.topic, one.index) for one in self.partitions.values()]
                self.roles.coordinator(self._group).offset_fetch(self._group, wanted, require_stable=True)
            self.attempt(Sweep(turn=turn_of(self.bench.tape.example.example)))
            # The content of a replica's log is certain between two reads of it.
            self.read_everything()

    def _all_ended(self) -> bool:
        return all(self._has_ended(one) for one in self._transactional)

    @property
    def _transactional(self) -> list[Client]:
        """The clients with a transactional id: those that have begun are in the coordinators' logs."""
        return [*(one for one in self.clients.values() if one.transactional), self._after_python]

    def _has_ended(self, client: Client) -> bool:
        with suppress(*UNANSWERED, Absent):
            described = client.coordinator().describe_transaction(client.producer.transactional_id)
            return described.error is not Error.NONE or described.state in ENDED
        return False

    def swept(self) -> Swept:
        return Swept([self.around(on) for on in self.partitions], self._group)


def _new_partitions(bench: Bench) -> dict[str, Partition]:
    """Fresh topics. The first transactional id that is looked up has the coordinators' topic created."""
    ids = tuple(bench.id_of(name) for name in bench.brokers)
    turned = tuple((*ids[n:], *ids[:n]) for n in range(3))
    wanted = [
        NewTopic(bench.fresh("strict"), turned, configs={"min.insync.replicas": "2"}),
        NewTopic(bench.fresh("loose"), turned[1:2], configs={"min.insync.replicas": "1"}),
    ]
    answer = bench.node(bench.brokers[0]).create_topics(wanted)
    if refused := [made for made in answer.topics if made.error is not Error.NONE]:
        raise KitError(f"topics could not be created: {refused}")
    strict, loose = (Topic(made.name, made.topic_id) for made in answer.topics)
    partitions = {f"strict-{n}": Partition(bench, PartitionData(strict, n)) for n in range(3)}
    partitions["loose-0"] = Partition(bench, PartitionData(loose, 0))
    for partition in partitions.values():
        partition.whole()
    return partitions
