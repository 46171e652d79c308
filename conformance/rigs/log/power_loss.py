"""A power loss of all brokers: the writes until then, and the controller's view afterwards."""

from threading import Thread

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.crashes import AcknowledgedRecord, Crashing
from conformance.rigs.log.partition import PartitionData, new_partition
from fixtures.faults.lab import QUICK
from fixtures.views.quorum import QuorumView
from fixtures.wire import WireError
from history.readings import PartitionRegistration
from protocol.codes import Error
from protocol.errors import KitError
from protocol.records import batch

MOST = 5_000
SESSIONS_EXPIRED_AFTER = int(QUICK["broker.session.timeout.ms"]) / 1000 + 0.5
"""Seconds after which every broker session has expired."""


class PowerLossWrites:
    """Consecutive writes with acks=all, until one is not acknowledged."""

    def __init__(self, partition: Crashing, enough: int) -> None:
        """Begin to write; return once `enough` writes are acknowledged."""
        self.acknowledged: list[AcknowledgedRecord] = []
        self._partition = partition
        self._state = partition.wait_until_whole()
        self._node = partition.bench.node(self._state.leader, purpose="traffic")
        self._thread = Thread(target=self._write)
        self._thread.start()
        try:
            partition.wait_until(
                lambda: len(self.acknowledged) >= enough or not self._thread.is_alive(), "acknowledged writes"
            )
        except KitError:
            self._node.close()
            self._thread.join()
            raise

    def _write(self) -> None:
        for n in range(MOST):
            value = b"under way %d" % n
            try:
                answer = self._node.produce(self._partition.topic, self._partition.index, batch(value))
            except WireError:
                return
            if answer.error is not Error.NONE:
                return
            self.acknowledged.append(AcknowledgedRecord(answer.base_offset, self._state.leader_epoch, value))

    def acknowledged_writes(self) -> list[AcknowledgedRecord]:
        """Return the writes acknowledged before the first failure."""
        self._thread.join()
        return self.acknowledged


class PowerData(msgspec.Struct, frozen=True):
    trio: PartitionData
    alone: PartitionData


class Power:
    """The partitions before and after the loss: `trio` on all brokers with min.insync.replicas=2, `alone` with one replica."""

    def __init__(self, bench: Bench, data: PowerData) -> None:
        self.bench = bench
        self.trio = Crashing(bench, data.trio)
        self.alone = Crashing(bench, data.alone)

    def registration_on_disk(self, partition: Crashing) -> PartitionRegistration:
        """Return the controller's registration of a partition, readable while no broker is up."""
        return self.bench.registration_on_disk(self.bench.controllers[0], partition.topic, partition.index)

    def start_controllers(self) -> None:
        """Start the controllers, and wait until the sessions of all known brokers have expired unnoticed.

        The active controller checks sessions when it receives a heartbeat, and all brokers are down.
        """
        for name in self.bench.controllers:
            self.bench.processes.start(name)
        QuorumView(self.bench, via=self.bench.controllers[0]).leader()
        began = self.bench.now().seconds
        self.bench.eventually(
            lambda: self.bench.now().seconds - began > SESSIONS_EXPIRED_AFTER, "the end of sessions", every=0.2
        )

    def await_no_leader(self) -> PartitionRegistration:
        """Return the registration of the partition on all brokers, once neither partition has a leader."""

        def registration_if_leaderless() -> PartitionRegistration | None:
            words = [self.registration_on_disk(partition) for partition in (self.trio, self.alone)]
            return words[0] if all(word.leader == -1 for word in words) else None

        return self.bench.eventually(registration_if_leaderless, "all brokers fenced", every=0.3)


def _prepare_power(bench: Bench) -> PowerData:
    ids = [bench.id_of(name) for name in bench.brokers]
    trio = new_partition(bench, tuple(ids), min_insync_replicas="2")
    alone = new_partition(bench, (ids[-1],))
    return PowerData(PartitionData(trio.topic, 0), PartitionData(alone.topic, 0))


POWER = Rig(QUICK_CLUSTER, _prepare_power, Power)
