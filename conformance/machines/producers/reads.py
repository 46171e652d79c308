"""Reads of the producers' partitions: as a read_committed consumer, and each replica's full log."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress

from conformance.core.bench import Bench
from conformance.core.roles import Absent, Roles
from conformance.rigs.log.partition import Partition, keep_last
from conformance.rigs.log.quiescence import log_start, read_whole
from fixtures.wire import NodeClient, WireError
from protocol.log import READ_COMMITTED, FetchOptions
from strategies import producers as do


class Reads:
    """A consumer that remembers the highest log end seen of each partition."""

    def __init__(self, bench: Bench, roles: Roles, partitions: Mapping[str, Partition]) -> None:
        self._bench = bench
        self._roles = roles
        self._partitions = partitions
        self._ends: dict[str, int] = defaultdict(int)

    def fetch_committed(self, step: do.FetchCommitted) -> None:
        node = self._roles.node(step.on, step.role)
        start = log_start(self._partitions[step.on], node)
        self._fetch(step.on, node, start if step.back is None else max(start, self._ends[step.on] - step.back))

    def delete_records(self, step: do.DeleteRecords) -> None:
        keep_last(self._partitions[step.on], self._roles.node(step.on, "leader"), step.keep)

    def read_replicas(self) -> None:
        """Read every running replica's full log and what a read_committed consumer sees of it, and the eligible leader
        replicas."""
        self._roles.describe_eligible()
        for on in self._partitions:
            with suppress(Absent):
                state = self._roles.partition_state(on)
                for id in filter(self._roles.is_running, state.replicas):
                    with suppress(WireError):
                        self._read(on, self._bench.node(id), state.leader_epoch)

    def _read(self, on: str, node: NodeClient, epoch: int) -> None:
        read_whole(self._partitions[on], node, epoch)
        self._fetch(on, node, log_start(self._partitions[on], node))

    def _fetch(self, on: str, node: NodeClient, offset: int) -> None:
        partition, epoch = self._partitions[on], self._roles.epoch(on)
        answer = node.fetch(
            partition.fetch_from(offset, current_leader_epoch=epoch), FetchOptions(isolation_level=READ_COMMITTED)
        )
        self._ends[on] = max(self._ends[on], answer.high_watermark)
