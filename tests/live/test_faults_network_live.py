"""What the faults of links put into a node's namespace is there again after a restart, and gone when it is taken away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.cluster import KRaftCluster
from fixtures.errors import KitError
from fixtures.faults.base.fault import Fault
from fixtures.faults.base.injector import Injector
from fixtures.faults.base.links import Piece, rule
from fixtures.faults.base.scene import Scene
from fixtures.faults.kinds.frames import Delay
from fixtures.faults.kinds.network import Drop, RateLimit
from fixtures.faults.kinds.process import start_all
from fixtures.faults.lab import LAB
from fixtures.images import obtain
from fixtures.runs import Run
from fixtures.waiting import eventually

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with Run.begin() as run, KRaftCluster(LAB, obtain("4.3.1"), run).boot() as cluster, Scene.on(cluster) as scene:
        yield scene


@pytest.mark.parametrize(
    "fault",
    [Drop(role="follower", peer="brokers"), RateLimit(role="follower", peer="clients"), Delay(role="follower")],
    ids=lambda fault: fault.name,
)
def test_a_restart_does_not_open_the_links(scene: Scene, fault: Fault) -> None:
    injector = Injector(scene)
    with injector.under(fault):
        scene.cluster.node(fault.node).kill()
        start_all(scene, [fault.node])
        assert any(line.startswith(f"{fault.node} has rules") for line in scene.links.closed())
        same = fault.fresh()
        vars(same).update(vars(fault), _probed=None, _effect=None, _measured={})
        eventually(same.witness, within=30, what=f"{fault.name} shows again", state=scene.states)
    assert not scene.links.closed()


def test_two_limits_stand_side_by_side(scene: Scene) -> None:
    node = scene.cluster.brokers[0]
    scene.links.limit(node, "one", scene.cluster.controllers, 64)
    scene.links.limit(node, "other", scene.cluster.brokers[1:], 128)
    scene.links.take(node, "one")
    assert scene.links.limited(node, "one") is None
    assert scene.links.limited(node, "other") is not None
    assert scene.links.closed() == [f"{node} has rules of htb, other"]
    scene.links.take(node, "other")
    assert not scene.links.closed()


def test_what_was_half_put_is_taken_whole(scene: Scene) -> None:
    node = scene.cluster.brokers[0]
    dropped = rule("filter", "half", "OUTPUT -p tcp --dport 9 -j DROP")
    with pytest.raises(KitError, match="ended with 1"):
        scene.links.place(node, "half", [dropped, Piece("false", "false"), dropped])
    assert scene.links.closed() == [f"{node} has rules of half"]
    scene.links.take(node, "half")
    assert not scene.links.closed()
