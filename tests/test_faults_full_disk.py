"""A full disk that is not full: everything else is as it would be, and the witness stays away."""

import pytest

from fixtures.cluster import KRaftCluster
from fixtures.engine import connect
from fixtures.faults.full_disk import FullDisk, SmallDisk
from fixtures.faults.injector import Injector, Unwitnessed
from fixtures.faults.lab import LAB
from fixtures.faults.scene import Scene
from fixtures.images import obtain
from fixtures.runs import Run

pytestmark = pytest.mark.docker


def test_a_small_disk_with_room_is_no_full_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with KRaftCluster(LAB, obtain("4.3.1"), run).boot() as cluster, Scene.on(cluster) as scene:
        offset = scene.write(b"kept over both moves")
        monkeypatch.setattr(SmallDisk, "fill", lambda self: None)
        monkeypatch.setattr(FullDisk, "witness_within", 4.0)
        with pytest.raises(Unwitnessed):
            Injector(scene).inject(FullDisk(role="broker"))
        node = cluster.node("broker-1")
        assert node.volume == node.own_volume
        assert connect().volumes.list(filters={"name": f"{node.own_volume}-small"}) == []
        stored = node.read_dir(f"{scene.topic.name}-{scene.index}")
        assert b"kept over both moves" in stored["00000000000000000000.log"]
        assert offset == 0
