"""A quorum of three real controllers whose leader is cut off from the others, while brokers and clients still reach it."""

from __future__ import annotations

from conformance.core.bench import Bench
from conformance.core.checks import Rig
from conformance.core.topologies import CONTROLLERS
from conformance.rigs.log.partition import PartitionData, new_partition
from protocol.codes import Error
from protocol.quorum import QuorumAnswer

FETCH_TIMEOUT = 2.0
"""controller.quorum.fetch.timeout.ms in seconds; CONTROLLERS keeps its default."""


class Isolated:
    """The controllers, with faults aimed by a partition that they administer."""

    def __init__(self, bench: Bench, data: PartitionData) -> None:
        self.bench = bench
        self.faults = bench.faults(data.topic, data.partition)

    def leads(self, name: str) -> QuorumAnswer | None:
        """The controller's own answer to DescribeQuorum, if it considers itself the leader."""
        answer = self.bench.node(name, controller=True).describe_quorum()
        leads = answer.error is Error.NONE and answer.leader_id == self.bench.id_of(name)
        return answer if leads else None


def _prepare(bench: Bench) -> PartitionData:
    return new_partition(bench).data


ISOLATED = Rig(CONTROLLERS, _prepare, Isolated)
