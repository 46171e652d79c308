"""A fetcher's raw requests: Fetch, OffsetForLeaderEpoch and ListOffsets, with drawn leader epochs, to nodes by role."""

from contextlib import suppress

from conformance.core.roles import Absent, Roles
from conformance.machines.log.partitions import Partitions
from conformance.machines.log.positions import Position, Positions
from conformance.rigs.log.quiescence import log_start, read_whole
from fixtures.wire import NodeClient, WireError
from protocol.log import EARLIEST, LATEST, FetchedPartition
from strategies import log as do

REVISITED: tuple[do.ReplicaRole, ...] = ("leader", "follower")
"""The roles that get requests at former positions at rest."""
REVISITED_EPOCHS = 3


class Fetches:
    """A fetcher that remembers the positions of the records that it read."""

    def __init__(self, roles: Roles, partitions: Partitions, positions: Positions) -> None:
        self._roles = roles
        self._partitions = partitions
        self._positions = positions

    # --- steps

    def read(self, step: do.Read) -> None:
        node, partition = self._roles.node(step.on, step.role), self._partitions[step.on]
        epoch = -1 if step.current_back is None else self._roles.epoch(step.on, step.current_back)
        whole = step.full_log
        self._note(step.on, read_whole(partition, node, epoch) if whole else self.from_start(step.on, node, epoch))

    def fetch_at(self, step: do.FetchAt) -> None:
        node = self._roles.node(step.on, step.role)
        offset = max(0, self._positions.ends[step.on] - step.before_end)
        last = self._roles.epoch(step.on, step.last_fetched_back)
        self._note(step.on, self._fetch(step.on, node, offset, self._roles.epoch(step.on, step.current_back), last))

    def revisit(self, step: do.RevisitPosition) -> None:
        self._revisit(step.on, step.role, self._positions.earlier(step.on, step.back))

    def offset_for_leader_epoch(self, step: do.OffsetForLeaderEpoch) -> None:
        node, partition = self._roles.node(step.on, step.role), self._partitions[step.on]
        epoch, current = self._roles.epoch(step.on, step.epochs_back), self._roles.epoch(step.on, step.current_back)
        node.offset_for_leader_epoch(partition.name, partition.index, epoch, current_leader_epoch=current)

    def list_offsets(self, step: do.ListOffsets) -> None:
        node, partition = self._roles.node(step.on, step.role), self._partitions[step.on]
        current = self._roles.epoch(step.on, step.current_back)
        for timestamp in (EARLIEST, LATEST):
            node.list_offsets(partition.name, partition.index, timestamp, current_leader_epoch=current)

    # --- parts of several steps

    def from_start(self, on: str, node: NodeClient, epoch: int) -> FetchedPartition:
        """Fetch from the node's log start offset at the current leader epoch `epoch`."""
        return self._fetch(on, node, log_start(self._partitions[on], node), epoch)

    def read_log(self, on: str, node: NodeClient, epoch: int) -> None:
        """Read the full log of a replica."""
        self._note(on, read_whole(self._partitions[on], node, epoch))

    def read_replica(self, on: str, node: NodeClient, epoch: int) -> None:
        """Read a replica's full log, and its consumer-visible part."""
        with suppress(WireError):
            self.read_log(on, node, epoch)
            self._note(on, self.from_start(on, node, epoch))

    def revisit_last(self) -> None:
        """Revisit the last position of each recent leader epoch, and fetch at the log end with that epoch as last
        fetched."""
        for on, position in self._positions.last_of_epochs(REVISITED_EPOCHS):
            for role in REVISITED:
                with suppress(WireError, Absent):
                    self._revisit(on, role, position)
                    node, current = self._roles.node(on, role), self._roles.epoch(on)
                    self._fetch(on, node, self._positions.ends[on], current, last=position[1])

    def _revisit(self, on: str, role: do.ReplicaRole, position: Position) -> None:
        (offset, epoch), current = position, self._roles.partition_state(on).leader_epoch
        partition, leader = self._partitions[on], self._roles.node(on, "leader")
        self._fetch(on, self._roles.node(on, role), offset + 1, current, last=epoch)
        leader.offset_for_leader_epoch(partition.name, partition.index, epoch, current_leader_epoch=current)

    def _fetch(self, on: str, node: NodeClient, offset: int, epoch: int, last: int = -1) -> FetchedPartition:
        return node.fetch(self._partitions[on].fetch_from(offset, current_leader_epoch=epoch, last_fetched_epoch=last))

    def _note(self, on: str, answer: FetchedPartition) -> None:
        self._positions.note(on, answer)
