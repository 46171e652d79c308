"""Leftovers: what dead runs left on a real engine is removed, and nothing else."""

from pathlib import Path

import docker
import docker.errors
import pytest

from fixtures.images import layers
from fixtures.images.base import base
from fixtures.runs import HOST_LABEL, Run, discard_progress, host_id, sweep
from tests.support.run_process import another_process

pytestmark = pytest.mark.docker


def test_the_engine_is_left_as_it_was(client: docker.DockerClient, state: Path) -> None:
    tag = "kafka-conformance/test-sweep:1"
    with another_process() as (run_id, process), Run.begin() as alive:
        dead = Run.join(run_id)
        image = base(client, discard_progress)
        client.networks.create("kafka-conformance-test", labels=dead.labels)
        client.volumes.create("kafka-conformance-test", labels=dead.labels)
        bench = client.containers.create(image, ["sleep", "60"], labels=dead.labels, network="kafka-conformance-test")
        layers.commit(bench, tag, dead.labels)
        bench.start()
        kept = client.containers.create(image, ["true"], labels=alive.labels)
        dead.close()
        process.kill()
        process.wait()
        assert len(sweep(client)) == 4
        assert layers.find_image(client, tag) is None
        assert client.containers.get(kept.id).status == "created"
        assert len(alive.end(client)) == 1
    ours = {"label": f"{HOST_LABEL}={host_id()}"}
    assert client.containers.list(all=True, ignore_removed=True, filters=ours) == []
    assert list((state / "runs").iterdir()) == []
