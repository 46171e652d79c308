"""Partitions whose brokers are killed, and restarted in a scheduled order."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from conformance.core.bench import Bench
from conformance.core.checks import PremiseClaim, Rig, premise
from conformance.core.damaging import Disk
from conformance.core.topologies import LAGGING, QUICK_CLUSTER
from conformance.core.waiting import WITHIN
from conformance.judging.facts.log import FUTURE_REPLICA
from conformance.rigs.log.epoch_checkpoint import entries_of, read_epochs
from conformance.rigs.log.lagging_watermark import watermark_and_end
from conformance.rigs.log.partition import Boundary, Partition, PartitionData, new_partition
from conformance.rigs.log.quiescence import at_rest
from fixtures.cluster import Topology
from fixtures.views.nodes import ask_until_granted
from fixtures.waiting import Overdue
from fixtures.wire import NotSent, WireError
from history.due import START_TIMEOUT, Due
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.log import DEBUGGER, EARLIEST, LATEST, FetchedPartition, FetchOptions
from protocol.records import batch

T = TypeVar("T")

PATIENCE_MS = 15_000


class AcknowledgedRecord(NamedTuple):
    """An acknowledged record: its offset, leader epoch and value."""

    offset: int
    epoch: int
    value: bytes

    def is_kept_in(self, read: FetchedPartition) -> bool:
        """True if the log has the record at its offset with its leader epoch."""
        return any(
            (record.offset, batch.leader_epoch, record.value) == self
            for batch in read.batches
            for record in batch.records
        )


class Crashing(Partition):
    """A partition read from one broker at a time while others are down. Brokers are given by id."""

    @property
    def directory(self) -> str:
        return f"{self.name}-{self.index}"

    @property
    def replicas(self) -> tuple[int, ...]:
        """The ids of its replicas in assignment order, the preferred leader first."""
        return self.wait_until_whole().replicas

    def bystander(self) -> int:
        """Return the id of the broker that does not host the partition."""
        [other] = {self.bench.id_of(name) for name in self.bench.brokers} - set(self.replicas)
        return other

    # --- actions

    def write_acknowledged(self, *values: bytes, by: int | None = None) -> list[AcknowledgedRecord]:
        """Write one batch per value with acks=all to the leader.

        While other replicas are down, `by` names the broker that has to lead; this waits until it does.
        """
        state = self.await_agreement() if by is None else self.await_leadership(by)
        return [
            AcknowledgedRecord(self._write_committed(state.leader, value), state.leader_epoch, value)
            for value in values
        ]

    def _write_committed(self, leader: int, value: bytes) -> int:
        """Write a record that every in-sync replica has; return its offset.

        A follower fetches a new partition, or one at a new leader epoch, only with its next fetch, after the current
        one has left purgatory.
        """
        node = self.bench.node(leader)
        return ask_until_granted(
            self.bench,
            lambda: node.produce(self.topic, self.index, batch(value), timeout_ms=PATIENCE_MS),
            f"a write to {self.directory} acknowledged",
        ).base_offset

    def kill(self, id: int) -> None:
        self.bench.processes.kill(self.bench.name_of(id))

    def start(self, id: int) -> None:
        self.bench.processes.start(self.bench.name_of(id))

    def disk(self, id: int) -> Disk:
        return self.bench.disk(self.bench.name_of(id), self.directory)

    # --- the state as one broker sees it; None if it does not answer or the condition does not hold

    def state_if_led_by(self, id: int, *, above: int = -1, isr: set[int] | None = None) -> PartitionMetadata | None:
        """Return the state if this broker's Metadata names itself leader with this ISR, and it serves at an epoch above
        `above`."""
        state = self.state_known_to(id)
        right = state is not None and state.leader == id and isr in (None, set(state.isr))
        return state if right and self.acting_state(id, above=above) else None

    def state_with_leader(self, asked: int) -> PartitionMetadata | None:
        """Return the state if the asked broker's Metadata names a leader; if that is itself, it must also serve at that
        epoch."""
        state = self.state_known_to(asked)
        if state is None or state.leader < 0:
            return None
        return state if state.leader != asked or self.acting_state(asked, above=-1) else None

    def state_without_leader(self, asked: int) -> PartitionMetadata | None:
        state = self.state_known_to(asked)
        return state if state is not None and state.leader == -1 else None

    def state_with_isr(self, asked: int, *ids: int) -> PartitionMetadata | None:
        """Return the state if exactly these brokers are in the ISR."""
        state = self.state_known_to(asked)
        return state if state is not None and set(state.isr) == set(ids) else None

    def is_listed(self, asked: int, id: int) -> bool:
        """True if the asked broker's Metadata lists the broker, as it does all that are not fenced."""
        return id in {broker.node_id for broker in self.bench.node(asked).metadata([]).brokers}

    def log_end(self, id: int) -> int | None:
        """Return the replica's log end offset, from ListOffsets with the debugging replica id."""
        try:
            answer = self.bench.node(id).list_offsets(self.name, self.index, LATEST, replica_id=DEBUGGER)
        except WireError:
            return None
        return answer.offset if answer.error is Error.NONE else None

    # --- waiting

    def wait_until(self, probe: Callable[[], T | None], what: str, due: Due = "step", within: float = WITHIN) -> T:
        return self.bench.eventually(probe, f"{what}, of {self.directory}", within, due=due)

    def await_in_sync(self, probe: Callable[[], object], what: str) -> None:
        """Wait until a restarted replica is in sync. If it never is, read its records for the judges, and raise."""
        try:
            self.wait_until(lambda: bool(probe()), what, "replica", START_TIMEOUT)
        except Overdue:
            at_rest(self)
            raise

    def await_leadership(self, id: int, *, above: int = -1, isr: set[int] | None = None) -> PartitionMetadata:
        return self.wait_until(
            lambda: self.state_if_led_by(id, above=above, isr=isr),
            f"broker {id} as the leader above epoch {above}",
            "leader",
        )

    def await_log_end(self, id: int) -> int:
        """Return the replica's log end offset once its broker has it online."""
        return self.wait_until(lambda: self.log_end(id), f"broker {id} with its replica online")

    def poll_log_ends(self, id: int, over: Callable[[], object], what: str, due: Due = "step") -> list[int]:
        """Poll the replica's log end offset until the condition holds; return all values."""
        ends: list[int] = []

        def try_once() -> bool:
            end = self.log_end(id)
            ends.extend([] if end is None else [end])
            return end is not None and bool(over())

        self.wait_until(try_once, what, due)
        return ends

    # --- reading

    def read(self, id: int) -> FetchedPartition:
        """Return all records of a replica, whichever leader it follows. Its only segment fits into one answer.

        A broker that starts may be in the ISR before it takes requests: one that never left is sent again, a refused one is not.
        """
        start = self.wait_until(lambda: self._log_start(id), f"broker {id} taking requests")
        return self.bench.node(id).fetch(self.fetch_from(start), FetchOptions(replica_id=FUTURE_REPLICA))

    def _log_start(self, id: int) -> int | None:
        try:
            return self.bench.node(id).list_offsets(self.name, self.index, EARLIEST, replica_id=DEBUGGER).offset
        except NotSent:
            return None

    def premise_of_lag(self, id: int, end: int) -> PremiseClaim:
        """Return the premise that the replica's high watermark is below the acknowledged log end `end`."""
        mark, held = watermark_and_end(self, self.bench.node(id))
        return premise(mark < end, f"the high watermark {mark} of broker {id} is below {end}; its log ends at {held}")

    def entries(self, id: int, until: Callable[[tuple[Boundary, ...]], bool]) -> tuple[Boundary, ...]:
        """Return a running replica's leader-epoch-checkpoint entries once `until` holds, or else the last ones read;
        empty if unreadable."""
        return entries_of(read_epochs(self, id, lambda file: until(entries_of(file) or ()))) or ()


def on_brokers(name: str, topology: Topology, count: int, **configs: str) -> Rig[PartitionData, Crashing]:
    """Return a rig with a new partition on the last `count` brokers, the last of them its preferred leader."""

    def prepare(bench: Bench) -> PartitionData:
        ids = [bench.id_of(name) for name in bench.brokers]
        return PartitionData(new_partition(bench, tuple(reversed(ids[-count:])), **configs).topic, 0)

    return Rig(topology, prepare, Crashing, name=name)


LAGGING_TRIO = on_brokers("lagging_trio", LAGGING, 3, min_insync_replicas="2")
LAGGING_PAIR = on_brokers("lagging_pair", LAGGING, 2, min_insync_replicas="1")
PAIR = on_brokers("pair", QUICK_CLUSTER, 2, min_insync_replicas="1")
TRIO = on_brokers("crashing_trio", QUICK_CLUSTER, 3, min_insync_replicas="2")
"""A partition on all three brokers. The third broker of a pair stays up to answer requests."""
