"""The execution of the producer machine's own steps: producers' requests by role, on replicated partitions."""

from contextlib import suppress
from functools import singledispatchmethod

from conformance.core.administration import TopicAdministration
from conformance.core.bench import Bench
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent, Roles
from conformance.core.sweeping import SweepTargets, turn_of
from conformance.machines.producers.clients import Client, UnansweredProduce
from conformance.machines.producers.partitions import new_partitions
from conformance.machines.producers.python import PythonProducers
from conformance.machines.producers.reads import Reads
from conformance.machines.producers.transactions import Transactions
from conformance.rigs.log.quiescence import at_rest
from fixtures.views.producer import LEGACY, TV2
from fixtures.wire import NodeClient, WireError
from protocol.groups import NewOffset
from protocol.messages import Topic
from strategies import producers as do
from strategies.steps import Step, Sweep


class ProducersExecutor(TopicAdministration[do.ProducerStep]):
    """The executor of producer steps on fresh topics: three strict partitions with different leaders, and a loose one;
    with fresh transactional ids and a fresh group."""

    def __init__(self, bench: Bench) -> None:
        self.partitions = new_partitions(bench)
        # To the cluster an id decides only which partition of the coordinator's topic holds it.
        ids = {name: bench.fresh_name(name) for name in do.TRANSACTIONAL}
        self._group = bench.fresh_name("group")
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
        self._python = PythonProducers(bench, self.roles, named := bench.fresh_name("python"), began)
        after_python = Client(bench, self.roles, named, LEGACY, began)
        self._transactions = Transactions(bench, self.roles, self.partitions, self.clients, self._python, after_python)
        self._reads = Reads(bench, self.roles, self.partitions)
        self.delegate(do.FetchCommitted, self._reads.fetch_committed)
        self.delegate(do.DeleteRecords, self._reads.delete_records)
        self.delegate(do.Describe, self._transactions.describe)
        self._began = began
        self._written = 0
        self._offsets = 0
        self._in_flight: list[UnansweredProduce] = []

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
    def _init(self, step: do.InitProducerId) -> None:
        self.clients[step.producer].init(step.timeout_ms)

    @run.register
    def _outlast_timeout(self, step: do.OutlastTimeout) -> None:
        self.clients[step.producer].outlast_timeout()

    @run.register
    def _bump_epoch(self, step: do.BumpEpoch) -> None:
        self.clients[step.producer].bump()

    @run.register
    def _raise_epoch(self, step: do.RaiseEpoch) -> None:
        self.clients[step.producer].raise_epoch(step.to)

    @run.register
    def _bump_as_fenced(self, step: do.BumpAsFenced) -> None:
        self.clients[step.producer].fenced_instance().bump()

    # --- writing

    @run.register
    def _write(self, step: do.Write) -> None:
        partition, node = self.partitions[step.on], self.roles.node(step.on, step.to)
        self.clients[step.producer].write(step.on, partition, node, self._values(step.records))

    @run.register
    def _write_to_several(self, step: do.WriteToSeveral) -> None:
        with self.roles.shared_metadata():
            node = self.roles.node(step.on, "leader")
            led = {on: one for on, one in self.partitions.items() if self._leads(node, on)}
        self.clients[step.producer].write_to_several(led, node, self._value())

    def _leads(self, node: NodeClient, on: str) -> bool:
        with suppress(Absent):
            return self.bench.name_of(self.roles.partition_state(on).leader) == node.node
        return False

    @run.register
    def _write_in_flight(self, step: do.WriteInFlight) -> None:
        partition, node = self.partitions[step.on], self.roles.node(step.on, "leader")
        sent = self.clients[step.producer].write_in_flight(step.on, partition, node, self._values(step.batches))
        for one in sent:
            self._in_flight.append(one)

    @run.register
    def _collect(self, step: do.Collect) -> None:
        sent, self._in_flight = self._in_flight, []
        for one in sent:
            with suppress(WireError):
                one.client.collect(one)

    @run.register
    def _skip_sequence(self, step: do.SkipSequence) -> None:
        partition, node = self.partitions[step.on], self.roles.node(step.on, "leader")
        self.clients[step.producer].skip(step.on, partition, node, step.gap, self._value())

    @run.register
    def _repeat_batch(self, step: do.RepeatBatch) -> None:
        partition, node = self.partitions[step.on], self.roles.node(step.on, "leader")
        self.clients[step.producer].repeat(step.on, partition, node, step.back)

    # --- transactions

    @run.register
    def _commit_offset(self, step: do.CommitOffset) -> None:
        client = self.clients[step.producer]
        commit = client.commit_offset_of_unadded_group if step.unadded else client.commit_offset
        commit(self._group, self.roles.coordinator(self._group), self._offset())

    def _offset(self) -> NewOffset:
        """Return the next offset to commit; no two requests commit the same one."""
        self._offsets += 1
        return NewOffset(self.partitions["strict-0"].topic, 0, offset=self._offsets)

    @run.register
    def _end_transaction(self, step: do.EndTransaction) -> None:
        self.run(do.Collect())
        self.clients[step.producer].end(self.partitions, commit=step.commit)

    @run.register
    def _end_nothing(self, step: do.EndNothing) -> None:
        self.clients[step.producer].end_without_transaction(commit=step.commit)

    @run.register
    def _send_as_fenced(self, step: do.SendAsFenced) -> None:
        fenced, partition = self.clients[step.producer].fenced_instance(), self.partitions[step.on]
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
    def _python_write(self, step: do.PythonWrite) -> None:
        self._python.write(step.producer, self.partitions[step.on], self._values(step.records))

    @run.register
    def _python_flush(self, step: do.PythonFlush) -> None:
        self._python.flush(step.producer)

    @run.register
    def _python_commit_offset(self, step: do.PythonCommitOffset) -> None:
        self._python.commit_offset(self._group, self._offset())

    @run.register
    def _python_end(self, step: do.PythonEnd) -> None:
        self._python.end(commit=step.commit)

    @run.register
    def _python_reopen(self, step: do.PythonReopen) -> None:
        self._python.reopen(step.producer)

    # --- reading

    def read_everything(self) -> None:
        self._reads.read_replicas()

    # --- faults

    def partition_for_fault(self, on: str) -> tuple[Topic, int]:
        return self.partitions[on].topic, self.partitions[on].index

    def before_fault(self) -> None:
        self.roles.remember_leaders()

    def after_fault(self) -> None:
        self.roles.refresh()
        self.roles.describe_eligible()

    # --- rest

    def before_rest(self, *, healed: bool) -> None:
        """End all producers: abort open transactions, and fence them by a last instance of each transactional id."""
        self.run(do.Collect())
        for client in self.clients.values():
            with suppress(*UNANSWERED, Absent):
                client.end(self.partitions, commit=False)
        self._python.settle()
        if healed:
            self._transactions.begin_last_instances()

    def agrees(self) -> bool:
        return at_rest(*self.partitions.values())

    def at_rest(self) -> None:
        self._transactions.await_ends()
        with self.roles.shared_metadata():
            self.run(do.Describe())
            with suppress(*UNANSWERED, Absent):
                wanted = [(one.topic, one.index) for one in self.partitions.values()]
                self.roles.coordinator(self._group).offset_fetch(self._group, wanted, require_stable=True)
            self.attempt(Sweep(turn=turn_of(self.bench.tape.example.example)))
            # The content of a replica's log is certain between two reads of it.
            self.read_everything()

    def sweep_targets(self) -> SweepTargets:
        return SweepTargets([self.partition_for_fault(on) for on in self.partitions], self._group)
