"""Nodes of another release: what a newer one wrote is read by the older one."""

import pytest

from fixtures.cluster import KRaftCluster, Topology
from fixtures.faults.base.injector import Injector, Unwitnessed
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.kinds.upgrade import Upgrade
from fixtures.faults.lab import QUICK
from fixtures.faults.selftest import without_effect
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.waiting import eventually
from fixtures.wire import NodeClient
from protocol.cluster import CoordinatorType
from protocol.codes import Error
from protocol.groups import NewOffset, OffsetFetchAnswer

pytestmark = pytest.mark.docker


class TestTwoReleases:
    def test_what_coordinators_of_the_newer_release_wrote_is_read_after_the_way_back(self, run: Run) -> None:
        topology = Topology(name="two-releases", controllers=1, brokers=3, config=QUICK)
        with (
            KRaftCluster(topology, obtain_image("3.9.2"), run).boot() as cluster,
            FaultTarget.on_new_topic(cluster) as target,
        ):
            injector = Injector(target)
            with injector.standing_fault(Upgrade(role="all nodes", to="4.3.1")):
                self._commit(target)
                begun = self._producer(target)
            assert self._fetch(target).shows(7)
            assert self._producer(target) == (begun[0], begun[1] + 1)

    def _commit(self, target: FaultTarget) -> None:
        group = _coordinator(target, target.group, CoordinatorType.GROUP)
        committed = group.offset_commit(target.group, [NewOffset(target.topic, target.index, 7)])
        assert {result.error for result in committed.partitions} == {Error.NONE}

    def _fetch(self, target: FaultTarget) -> OffsetFetchAnswer:
        """Return the group's offsets, once its coordinator has loaded what it knew."""

        def offsets() -> OffsetFetchAnswer | None:
            group = _coordinator(target, target.group, CoordinatorType.GROUP)
            answer = group.offset_fetch(target.group, [(target.topic, target.index)])
            return None if answer.error in (Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS) else answer

        return eventually(offsets, within=20, what="the group's offsets", state=target.states)

    def _producer(self, target: FaultTarget) -> tuple[int, int]:
        """Id and epoch that the transactional id is given, once its coordinator has loaded what it knew."""

        def begun() -> tuple[int, int] | None:
            transactions = _coordinator(target, target.transactional_id, CoordinatorType.TRANSACTION)
            answer = transactions.init_producer_id(target.transactional_id)
            return (answer.producer_id, answer.producer_epoch) if answer.error is Error.NONE else None

        return eventually(begun, within=20, what="a producer id", state=target.states)

    def test_a_cluster_at_an_old_level_takes_an_older_release(self, run: Run) -> None:
        topology = Topology(
            name="old-level", controllers=3, brokers=3, config=QUICK, features={"metadata.version": "3.9-IV0"}
        )
        with (
            KRaftCluster(topology, obtain_image("4.3.1"), run).boot() as cluster,
            FaultTarget.on_new_topic(cluster) as target,
        ):
            injector = Injector(target)
            with pytest.raises(Unwitnessed):  # the act left out
                injector.inject(without_effect(Upgrade(role="leader", to="3.9.2")))
            with injector.standing_fault(Upgrade(role="leader", to="3.9.2")) as injected:
                assert injected.witness["release"][injected.nodes[0]] == ["4.3.1", "3.9.2"]


def _coordinator(target: FaultTarget, key: str, kind: CoordinatorType) -> NodeClient:
    found = eventually(lambda: target.watch.coordinator(key, kind), within=20, what=f"a coordinator of {key}")
    return target.watch.client(target.name_of(found))
