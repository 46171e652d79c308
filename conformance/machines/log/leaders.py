"""Probes of leaders and former leaders: which of them commits, and which leader epochs each serves."""

from contextlib import suppress

from conformance.core.bench import Bench
from conformance.core.roles import Absent, Roles
from conformance.machines.log.fetches import Fetches
from conformance.machines.log.partitions import Partitions
from conformance.machines.log.writes import Writes
from fixtures.wire import WireError
from strategies import log as do

STALE_WITHIN_MS = 300
"""The timeout in ms of a write to a stale leader, which never gets its acknowledgements."""
FORMER_EPOCHS = 3
"""The number of earlier leader epochs at which a leader is asked."""


class LeaderProbes:
    """Requests that distinguish a leader from a former one."""

    def __init__(self, bench: Bench, roles: Roles, partitions: Partitions, writes: Writes, fetches: Fetches) -> None:
        self._bench = bench
        self._roles = roles
        self._partitions = partitions
        self._writes = writes
        self._fetches = fetches

    def probe(self, step: do.ProbeLeaders) -> None:
        for on in self._partitions:
            with suppress(Absent, WireError):
                self._probe_leader(on)
            with suppress(Absent, WireError):
                self._probe_former_leader(on)

    def _probe_leader(self, on: str) -> None:
        """Probe whether the leader commits, whether its high watermark waits for the current ISR, and which leader
        epochs it serves."""
        with self._roles.shared_metadata():
            leader, epoch = self._roles.node(on, "leader"), self._roles.epoch(on)
        for acks in (-1, 1, -1):
            self._writes.write(on, leader, acks, self._writes.batch(on))
            self._roles.partition_state(on)
        for _ in range(3):
            self._fetches.read_log(on, leader, epoch)
        for other in (*range(max(0, epoch - FORMER_EPOCHS), epoch), epoch + 1):
            self._fetches.from_start(on, leader, other)
        self._roles.partition_state(on)

    def _probe_former_leader(self, on: str) -> None:
        """Probe whether the former leader commits, at any epoch, and whether it rejects requests that name a newer
        leader epoch."""
        with self._roles.shared_metadata():
            former, state = self._roles.node(on, "former-leader"), self._roles.partition_state(on)
        if former.node == self._bench.name_of(state.leader):
            raise Absent(f"{on} has no former leader that can be reached")
        old = max(0, state.leader_epoch - 1)
        for acks in (1, -1, -1, -1):
            self._fetches.from_start(on, former, old)
            self._writes.write(on, former, acks, self._writes.batch(on), within_ms=STALE_WITHIN_MS)
        for epoch in (old, state.leader_epoch):
            self._fetches.from_start(on, former, epoch)
