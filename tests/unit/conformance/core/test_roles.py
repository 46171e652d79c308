"""Roles on the miniature: a coordinator is asked of brokers that answer."""

from __future__ import annotations

import pytest

from conformance.core.bench import Bench
from conformance.core.roles import Absent, Roles
from history.events import Call
from protocol.cluster import CoordinatorType, PartitionMetadata
from protocol.codes import Error
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import CLIENTS, MiniCluster


def asked(bench: Bench) -> list[str]:
    """The brokers to which FindCoordinator was sent, in turn."""
    calls = (event for event in bench.tape.history.events if isinstance(event, Call))
    return [call.node for call in calls if call.op == "find_coordinator"]


def test_another_broker_is_asked_where_one_does_not_answer_and_that_one_no_more_until_the_next_fault() -> None:
    cluster = MiniCluster()
    bench = mini_bench(cluster)
    roles = Roles(bench, {})
    cluster.cut([(1, CLIENTS)])
    for _ in range(2):
        assert roles.coordinator("tid", CoordinatorType.TRANSACTION).node == "broker-1"
    assert asked(bench) == ["broker-1", "broker-2", "broker-2"]
    roles.refresh()
    roles.coordinator("tid", CoordinatorType.TRANSACTION)
    assert asked(bench)[3:] == ["broker-1", "broker-2"]


def test_without_an_answer_there_is_no_coordinator() -> None:
    cluster = MiniCluster()
    roles = Roles(mini_bench(cluster), {})
    cluster.cut([(id, CLIENTS) for id in cluster.brokers])
    with pytest.raises(Absent, match="tid has no coordinator"):
        roles.coordinator("tid", CoordinatorType.TRANSACTION)


@pytest.mark.parametrize(
    ("isr", "offline", "owed"), [((1,), (), True), ((1,), (1,), False), ((1, 2), (1,), True), ((), (), False)]
)
def test_a_leader_is_owed_by_a_replica_in_sync_that_runs_and_has_its_log_directory(
    isr: tuple[int, ...], offline: tuple[int, ...], owed: bool
) -> None:
    roles = Roles(mini_bench(MiniCluster()), {})
    seen = PartitionMetadata(
        error=Error.NONE, partition=0, leader=-1, leader_epoch=1, replicas=(1, 2), isr=isr, offline=offline
    )
    assert roles._lacks_leader(seen) is owed
