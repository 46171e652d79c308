"""Two replicas: one is killed, the other appends records alone and dies, and the first is elected uncleanly.

A bystander, a broker without a replica of the partition that stays up, observes everything.
"""

from typing import NamedTuple

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.faulting import record_fault
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.partition import Partition, PartitionData, new_partition
from fixtures.cluster import Topology
from fixtures.cluster.config import SMALL_SETTINGS
from fixtures.faults.kinds.unclean import UncleanElection
from fixtures.wire import NodeClient, WireError
from fixtures.wire.errors import NotOffered
from fixtures.wire.retriable import NOT_SERVED_YET, ask_again
from history.due import START_TIMEOUT
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.topics import ElectionType

SESSION = int({**SMALL_SETTINGS, **QUICK_CLUSTER.config}["broker.session.timeout.ms"]) / 1000
"""Seconds after which a broker without heartbeats is fenced."""


UNCLEAN = UncleanElection(own_topic=False)
"""The unclean election of the rig's own partition."""


class LeaderlessTime(NamedTuple):
    """The leaders seen while no replica may lead, in the `seconds` after the heir's restart, and the replicas that may
    be elected without data loss."""

    leaders: set[int]
    seconds: float
    eligible: tuple[int, ...]


class UncleanPartitionData(msgspec.Struct, frozen=True):
    """A partition, and the brokers: its first leader, the other replica, and one without a replica."""

    partition: PartitionData
    first: str
    second: str
    bystander: str


class UncleanPartition(Partition):
    """A partition on two brokers, at first led by `first`."""

    def __init__(self, bench: Bench, data: UncleanPartitionData) -> None:
        super().__init__(bench, data.partition)
        self.first, self.second, self.bystander = data.first, data.second, data.bystander

    def node(self, name: str) -> NodeClient:
        return self.bench.node(name)

    def bystander_state(self) -> PartitionMetadata:
        """Return the partition in the bystander's Metadata."""
        return self.state_by(self.bystander)

    # --- live replicas

    def leave_alone(self, survivor: str) -> PartitionMetadata:
        """Kill the other replica; return the state once the survivor is alone in the ISR."""
        [other] = {self.first, self.second} - {survivor}
        self.bench.processes.kill(other, role="follower")
        id = self.bench.id_of(survivor)

        def alone() -> PartitionMetadata | None:
            state = self.bystander_state()
            return state if (state.leader, state.isr) == (id, (id,)) else None

        return self.bench.eventually(alone, f"{survivor} alone in the ISR of {self.name}")

    def lose_leader(self, leader: str) -> None:
        """Kill the only replica in the ISR, and wait until the partition has no leader."""
        self.bench.processes.kill(leader, role="leader")
        self.bench.eventually(lambda: self.bystander_state().leader == -1, f"no leader of {self.name}")

    def start_lagging(self, name: str) -> None:
        """Start a lagging replica, and wait until the cluster lists it as alive."""
        self.bench.processes.start(name)
        self.bench.eventually(lambda: self._is_listed(name), f"{name} unfenced", START_TIMEOUT, due="node")

    def _is_listed(self, name: str) -> bool:
        return self.bench.id_of(name) in {b.node_id for b in self.node(self.bystander).metadata([]).brokers}

    def watch_leaderless(self, within: float) -> LeaderlessTime:
        """Watch the leader for `within` seconds."""
        began, leaders = self.bench.now().seconds, set[int]()

        def over() -> bool:
            leaders.add(self.bystander_state().leader)
            return self.bench.now().seconds - began >= within

        self.bench.eventually(over, "the end of the time without a leader", within=within + 10.0, every=0.1, due=None)
        return LeaderlessTime(leaders, self.bench.now().seconds - began, self._eligible_replicas())

    def _eligible_replicas(self) -> tuple[int, ...]:
        """Return the eligible leader replicas (KIP-966), which may be elected without data loss; empty before 3.8."""
        try:
            [topic] = self.node(self.bystander).describe_topic_partitions([self.name]).topics
        except NotOffered:
            return ()
        return topic.partition(self.index).eligible_leader_replicas or ()

    # --- the election

    def elect(self, heir: str) -> PartitionMetadata:
        """Elect the only live replica uncleanly; return the state once it serves as leader."""
        before = self.bystander_state()
        record_fault(self.bench.tape, UNCLEAN, "inject", node=heir)
        self.bench.eventually(self._try_to_elect, f"an unclean election of {heir}", every=0.1)
        after = self.await_leadership(heir)
        detail = {"epoch": [before.leader_epoch, after.leader_epoch], "leader": [before.leader, after.leader]}
        record_fault(self.bench.tape, UNCLEAN, "witness", node=heir, detail=detail)
        return after

    def _try_to_elect(self) -> bool:
        """True if the heir has been elected. A refusal is no error: the heir may still be fenced."""
        answer = self.node(self.bystander).elect_leaders([(self.name, self.index)], ElectionType.UNCLEAN)
        errors = {answer.error, *(one.error for one in answer.partitions)} - {Error.NONE}
        return errors <= {Error.ELECTION_NOT_NEEDED}

    def await_leadership(self, name: str) -> PartitionMetadata:
        """Return the state once this broker leads, serves at that epoch, and all its records are committed."""
        return self.bench.eventually(
            lambda: self._state_if_serving(self.bench.id_of(name)), f"{name} leading {self.name}"
        )

    def _state_if_serving(self, id: int) -> PartitionMetadata | None:
        state = self.bystander_state()
        if state.leader != id:
            return None
        try:
            answer = self.bench.node(id).fetch(self.fetch_from(0, current_leader_epoch=state.leader_epoch))
            end = self.bench.node(id).list_offsets(self.name, self.index, replica_id=-2).offset
        except WireError:
            return None
        return None if ask_again(answer, NOT_SERVED_YET) or answer.high_watermark != end else state


def couple_led_by(bench: Bench, first: str) -> UncleanPartitionData:
    """Create the partition, for which acks=all needs only one replica."""
    bystander, second = (name for name in bench.brokers if name != first)
    made = new_partition(bench, (bench.id_of(first), bench.id_of(second)), min_insync_replicas="1")
    return UncleanPartitionData(made.data, first, second, bystander)


def couple_on(topology: Topology) -> Rig[UncleanPartitionData, UncleanPartition]:
    def couple(bench: Bench) -> UncleanPartitionData:
        return couple_led_by(bench, bench.brokers[-1])

    return Rig(topology, couple, UncleanPartition)


COUPLE = couple_on(QUICK_CLUSTER)
