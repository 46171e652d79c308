"""The execution of the log machine's own steps, around some partitions of an example."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, singledispatchmethod

import msgspec

from conformance.core.administration import CLUSTER_DEFAULT, TopicAdministration
from conformance.core.bench import Bench
from conformance.core.echoing import request_to_echo
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent, Roles
from conformance.core.sweeping import SweepTargets, turn_of
from conformance.judging.timeline import CONVERGENCE_TIMEOUT, UNCLEAN_ELECTION
from conformance.machines.log.consumers import Consumers
from conformance.machines.log.fetches import Fetches
from conformance.machines.log.leaders import LeaderProbes
from conformance.machines.log.partitions import new_partitions
from conformance.machines.log.positions import Positions
from conformance.machines.log.sessions import FetchSessions
from conformance.machines.log.writes import Writes
from conformance.rigs.log.partition import Partition, PartitionData, keep_last
from conformance.rigs.log.quiescence import at_rest
from fixtures.faults.base.roles import CONTROLLER_ROLES
from fixtures.waiting import Overdue
from fixtures.wire import WireError
from protocol.codes import Error
from protocol.messages import Topic
from protocol.topics import NewTopic
from strategies import log as do
from strategies import steps
from strategies.log_offer import EVERY_PARTITION
from strategies.steps import topic_of

SMALL_SEGMENTS = {"segment.bytes": "16384"}
GROUP = "group"


class LogExecutor(TopicAdministration[do.LogStep]):
    """The executor of log steps on fresh topics: two strict partitions, a loose and a compacted one on all three brokers, a
    lone one on one broker, and the topics that its steps create."""

    def __init__(self, bench: Bench) -> None:
        self.partitions = new_partitions(bench)
        super().__init__(bench, bench.faults(self.partitions["strict-0"].topic))
        self.topics = {topic_of(on): made.topic for on, made in self.partitions.items()}
        self._forget_defaults()
        self.roles = Roles(bench, {on: (made.name, made.index) for on, made in self.partitions.items()})
        self._group = f"{GROUP}-{bench.tape.example.example}"
        self._positions = Positions()
        self._writes = Writes(bench, self.roles, self.partitions, self._positions)
        self._fetches = Fetches(self.roles, self.partitions, self._positions)
        self._sessions = FetchSessions()
        self._deleted: set[str] = set()
        self._delegate_to_producers()
        self._delegate_to_consumers()

    def _delegate_to_producers(self) -> None:
        writes, probes = (
            self._writes,
            LeaderProbes(self.bench, self.roles, self.partitions, self._writes, self._fetches),
        )
        self.delegate(do.Produce, writes.produce)
        self.delegate(do.ProduceToAll, writes.produce_to_all)
        self.delegate(do.ProduceIdempotently, writes.produce_idempotently)
        self.delegate(do.Transact, writes.transact)
        self.delegate(do.ProduceInFlight, writes.produce_in_flight)
        self.delegate(do.ProbeLeaders, probes.probe)

    def _delegate_to_consumers(self) -> None:
        fetches, consumers = self._fetches, Consumers(self.bench, self.roles, self.partitions, self._group)
        self.delegate(do.Read, fetches.read)
        self.delegate(do.FetchAt, fetches.fetch_at)
        self.delegate(do.RevisitPosition, fetches.revisit)
        self.delegate(do.OffsetForLeaderEpoch, fetches.offset_for_leader_epoch)
        self.delegate(do.ListOffsets, fetches.list_offsets)
        self.delegate(do.Consume, consumers.consume)
        self.delegate(do.Join, consumers.join)
        self.delegate(do.PollGroup, consumers.poll_group)
        self.delegate(do.Leave, consumers.leave)
        self.delegate(do.OffsetFetch, consumers.fetch_offsets)

    @singledispatchmethod
    def run(self, step: steps.Step) -> None:
        super().run(step)

    # --- requests in flight and in sessions

    @run.register
    def _fetch_in_flight(self, step: do.FetchInFlight) -> None:
        node, epoch = self.roles.node(step.on, step.role), self.roles.epoch(step.on)
        self._writes.in_flight.fetch(self.partitions[step.on], node, self._positions.ends[step.on], epoch)

    @run.register
    def _fetch_in_session(self, step: do.FetchInSession) -> None:
        node, epoch = self.roles.node(step.on, step.role), self.roles.epoch(step.on, step.current_back)
        self._sessions.fetch(self.partitions[step.on], node, self._positions.ends[step.on], epoch)

    @run.register
    def _collect(self, step: do.Collect) -> None:
        self._writes.in_flight.collect()

    @run.register
    def _delete_records(self, step: do.DeleteRecords) -> None:
        node, partition = self.roles.node(step.on, step.to), self.partitions[step.on]
        keep_last(partition, node, step.keep)

    def read_everything(self) -> None:
        """Read every running replica's full log and its consumer-visible part, and the eligible leader replicas."""
        self.roles.describe_eligible()
        self._describe_directories()
        for on in self.partitions:
            with suppress(Absent):
                state = self.roles.partition_state(on)
                for id in filter(self.roles.is_running, state.replicas):
                    self._fetches.read_replica(on, self.bench.node(id), state.leader_epoch)

    # --- topics that steps create and delete

    def _create_as(
        self, on: str, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """Create the topic with the segment-size setting that this release accepts; its partitions take part from now
        on."""
        named = {self._setting(key): value for key, value in configs.items()}
        super()._create_as(on, name, partitions, replication_factor, named)
        made = self.topics[on]
        if made.id is not None and made not in self.partitions.known_as(on):
            self._deleted.discard(on)
            for index in range(partitions):
                self._enter(f"{on}-{index}", made, index)

    def _enter(self, on: str, topic: Topic, index: int) -> None:
        if on in EVERY_PARTITION:
            self.partitions[on] = Partition(self.bench, PartitionData(topic, index))
            self.roles.add(on, topic.name, index)
            self._positions.forget(on)

    @run.register
    def _add_to_known_partitions(self, step: steps.AddPartitions) -> None:
        """Let the partitions that a broker then names take part."""
        super().run(step)
        topic = self.topic(step.on)
        for made in self.asked_broker().metadata([topic.name]).topic(topic.name).partitions:
            if f"{step.on}-{made.partition}" not in self.partitions:
                self._enter(f"{step.on}-{made.partition}", topic, made.partition)

    @run.register(steps.DeleteTopic)
    @run.register(steps.RecreateTopic)
    def _note_deletion(self, step: steps.DeleteTopic | steps.RecreateTopic) -> None:
        """Note that the topic's partitions may be gone from now on."""
        self.topic(step.on)
        self._deleted.add(step.on)
        super().run(step)

    @run.register
    def _note_echoed_deletion(self, step: steps.Echo) -> None:
        """Note that an echoed DeleteTopics may delete a topic created since under the same name."""
        call = request_to_echo(self.bench, step.back)
        if call.op == "delete_topics":
            self._deleted |= {on for on, topic in self.topics.items() if topic.name in call.request["topics"]}
        super().run(step)

    def _forget_defaults(self) -> None:
        """Delete the cluster-wide setting that an earlier example may have left if it ended early."""
        with suppress(*UNANSWERED, Absent):
            self.asked_broker().incremental_alter_configs(*CLUSTER_DEFAULT, {UNCLEAN_ELECTION: None})

    @run.register
    def _alter_setting(self, step: steps.AlterConfig) -> None:
        super().run(msgspec.structs.replace(step, key=self._setting(step.key)))

    def _setting(self, key: str) -> str:
        return self._segment_size if key == "segment.bytes" else key

    @cached_property
    def _segment_size(self) -> str:
        """The setting that allows small segments: newer releases refuse less than 1 MiB for segment.bytes."""
        wanted = NewTopic(
            self.bench.fresh_name("small"), num_partitions=1, replication_factor=1, configs=SMALL_SEGMENTS
        )
        [tried] = self.asked_broker().create_topics([wanted], validate_only=True).topics
        return "internal.segment.bytes" if tried.error is Error.INVALID_CONFIG else "segment.bytes"

    # --- faults

    def partition_for_fault(self, on: str) -> tuple[Topic, int]:
        partition = self.partitions[on]
        return partition.topic, partition.index

    def before_fault(self) -> None:
        self.roles.remember_leaders()

    def after_fault(self) -> None:
        self.roles.refresh()
        self.roles.describe_eligible()

    def await_reaction(self) -> None:
        """Wait for an election that is due (GEN-08) if faults only idle brokers or fail their log directories. The
        answers in between show the judges whether it came."""
        self._describe_directories()
        effects = [fault.effects for fault, _ in self.standing if fault.role not in CONTROLLER_ROLES]
        if len(effects) == len(self.standing) and all(one.idles_processes or one.fails_directory for one in effects):
            with suppress(Overdue):
                self.bench.eventually(
                    lambda: not self.roles.leaderless_partitions(),
                    "a leader",
                    within=CONVERGENCE_TIMEOUT + 2,
                    every=0.5,
                    due=None,
                )

    def _describe_directories(self) -> None:
        """Ask brokers with a failed log directory which replicas they have in the others (GEN-20)."""
        hit = {node for fault, nodes in self.standing if fault.effects.fails_directory for node in nodes}
        for name in sorted(hit - self.roles.down):
            with suppress(WireError):
                self.bench.node(name).describe_log_dirs()

    # --- rest

    def before_rest(self, *, healed: bool) -> None:
        self.run(do.Collect())
        with suppress(*UNANSWERED, Absent):
            self._writes.transactional.end(committed=False)
        self._forget_defaults()
        self.attempt(do.OffsetFetch())
        if healed:
            # Where the leader has changed, its leader epoch then follows all that was written before.
            self.run(do.ProduceToAll())
            self._writes.transactional.settle(self._writes.refusing)

    def agrees(self) -> bool:
        """Wait until the replicas agree on all partitions that no step has asked to delete."""
        self.partitions.drop(self._deleted)
        met = at_rest(*self.partitions.values())
        self.bench.registrations(self.partitions.ids)
        return met

    def at_rest(self) -> None:
        with self.roles.shared_metadata():
            self._fetches.revisit_last()
            self.attempt(steps.Sweep(turn=turn_of(self.bench.tape.example.example)))
            # The content of a replica's log is certain between two reads of it.
            self.read_everything()

    def sweep_targets(self) -> SweepTargets:
        return SweepTargets(self.partitions.ids, self._group)
