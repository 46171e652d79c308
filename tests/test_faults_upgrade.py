"""Nodes of another release: what may be mixed, and that what a newer release wrote is read by the older one."""

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.cluster import KRaftCluster, Topology
from fixtures.faults.injector import Injector, Unwitnessed
from fixtures.faults.lab import QUICK
from fixtures.faults.scene import Scene
from fixtures.faults.show import without_effect
from fixtures.faults.upgrade import Upgrade, numbers
from fixtures.images import Image, obtain
from fixtures.runs import Run
from fixtures.waiting import eventually
from fixtures.wire import Error, NodeClient
from fixtures.wire.cluster import CoordinatorType
from fixtures.wire.groups import NewOffset
from tests.fake_scene import scene_of

OF_3_9 = Image(
    reference="some", id="some", version="3.9.2", label="3.9.2", class_path=(), kafka_opts=(), clients_jar=Path(), cds=None
)  # fmt: skip
OF_4_3 = replace(OF_3_9, version="4.3.1", label="4.3.1")


def test_a_newer_release_is_let_in() -> None:
    assert Upgrade(to="4.3.1").available(scene_of({}, OF_3_9))


def test_an_older_one_is_not_where_it_does_not_know_the_level() -> None:
    assert "metadata.version" in Upgrade(to="3.9.2").available(scene_of({}, OF_4_3)).reason


def test_an_older_one_is_let_in_at_a_level_that_it_knows() -> None:
    assert Upgrade(to="3.9.2").available(scene_of({}, OF_4_3, **{"metadata.version": "3.9-IV0"}))


def test_what_runs_already_is_no_change() -> None:
    assert "already" in Upgrade(to="4.3.1").available(scene_of({}, OF_4_3)).reason


def test_releases_compare_by_number() -> None:
    assert numbers("3.10.0") > numbers("3.9.2") > numbers("3.9-IV0")


@pytest.mark.docker
class TestLive:
    def test_what_coordinators_of_the_newer_release_wrote_is_read_after_the_way_back(self, run: Run) -> None:
        topology = Topology(name="two-releases", controllers=1, brokers=3, config=QUICK)
        with KRaftCluster(topology, obtain("3.9.2"), run).boot() as cluster, Scene.on(cluster) as scene:
            injector = Injector(scene)
            with injector.under(Upgrade(role="all nodes", to="4.3.1")):
                self._commit(scene)
                begun = self._producer(scene)
            group = _coordinator(scene, scene.group, CoordinatorType.GROUP)
            assert group.offset_fetch(scene.group, [(scene.topic, scene.index)]).shows(7)
            assert self._producer(scene) == (begun[0], begun[1] + 1)

    def _commit(self, scene: Scene) -> None:
        group = _coordinator(scene, scene.group, CoordinatorType.GROUP)
        committed = group.offset_commit(scene.group, [NewOffset(scene.topic, scene.index, 7)])
        assert {result.error for result in committed.partitions} == {Error.NONE}

    def _producer(self, scene: Scene) -> tuple[int, int]:
        """Id and epoch that the transactional id is given, once its coordinator has loaded what it knew."""

        def begun() -> tuple[int, int] | None:
            transactions = _coordinator(scene, scene.transactional_id, CoordinatorType.TRANSACTION)
            answer = transactions.init_producer_id(scene.transactional_id)
            return (answer.producer_id, answer.producer_epoch) if answer.error is Error.NONE else None

        return eventually(begun, within=20, what="a producer id", state=scene.states)

    def test_a_cluster_at_an_old_level_takes_an_older_release(self, run: Run) -> None:
        topology = Topology(
            name="old-level", controllers=3, brokers=3, config=QUICK, features={"metadata.version": "3.9-IV0"}
        )
        with KRaftCluster(topology, obtain("4.3.1"), run).boot() as cluster, Scene.on(cluster) as scene:
            injector = Injector(scene)
            with pytest.raises(Unwitnessed):  # the act left out
                injector.inject(without_effect(Upgrade(role="leader", to="3.9.2")))
            with injector.under(Upgrade(role="leader", to="3.9.2")) as injected:
                assert injected.witness["release"][injected.nodes[0]] == ["4.3.1", "3.9.2"]


def _coordinator(scene: Scene, key: str, kind: CoordinatorType) -> NodeClient:
    found = eventually(lambda: scene.watch.coordinator(key, kind), within=20, what=f"a coordinator of {key}")
    return scene.watch.client(scene.name_of(found))
