import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import docker.errors
import pytest
import requests

from fixtures.errors import KitError
from fixtures.images import layers
from fixtures.images.base import base
from fixtures.runs import HOST_LABEL, KIT_LABEL, RUN_LABEL, Run, alive, forget, host_id, kept_of, quiet, sweep
from tests.fake_engine import FakeEngine

_HOLD = """
import sys
from fixtures.runs import Run
run = Run.join(sys.argv[1]) if sys.argv[1:] else Run.begin()
print(run.id, flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process(*run_id: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process that holds a run until it is killed; with the run's id."""
    command = [sys.executable, "-c", _HOLD, *run_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def labels_of(run_id: str, host: str | None = None) -> dict[str, str]:
    return {KIT_LABEL: "1", RUN_LABEL: run_id, HOST_LABEL: host or host_id()}


def conflict(status: int) -> docker.errors.APIError:
    response = requests.Response()
    response.status_code = status
    return docker.errors.APIError("in progress", response=response, explanation="removal is already in progress")


@pytest.mark.usefixtures("state")
class TestLiveness:
    def test_a_killed_run_is_swept_and_a_live_one_is_not(self) -> None:
        engine: Any = FakeEngine()
        with another_process() as (dead, process), another_process() as (alive, _), Run.begin() as ours:
            for name, run_id in (("dead", dead), ("alive", alive), ("ours", ours.id)):
                engine.containers.add(f"{name}-node", labels_of(run_id))
                engine.networks.add(f"{name}-network", labels_of(run_id))
                engine.volumes.add(f"{name}-volume", labels_of(run_id))
                engine.images.add(f"{name}-image", labels_of(run_id))
            assert sweep(engine) == []
            process.kill()
            process.wait()
            said: list[str] = []
            removed = sweep(engine, said.append)
            assert removed == [f"{kind} dead-{name}" for kind, name in (
                ("container", "node"), ("network", "network"), ("volume", "volume"), ("image", "image"))]  # fmt: skip
            assert dead in said[0]
            assert {name.split("-")[0] for name in engine.names()} == {"alive", "ours"}

    def test_a_worker_keeps_its_run_alive_when_the_controller_dies(self) -> None:
        engine: Any = FakeEngine()
        with another_process() as (run_id, controller), another_process(run_id) as (joined, worker):
            engine.containers.add("node", labels_of(run_id))
            controller.kill()
            controller.wait()
            assert joined == run_id
            assert sweep(engine) == []
            worker.kill()
            worker.wait()
            assert sweep(engine) == ["container node"]

    def test_other_hosts_kept_images_and_strangers_stay(self) -> None:
        engine: Any = FakeEngine()
        engine.containers.add("elsewhere", labels_of("gone", host="another"))
        engine.containers.add("stranger", {})
        engine.images.add("kept", layers.KEPT)
        assert sweep(engine) == []
        assert engine.names() == {"elsewhere", "stranger", "kept"}

    def test_a_run_that_is_over_cannot_be_joined(self) -> None:
        run = Run.begin()
        run.end(FakeEngine())
        with pytest.raises(KitError, match=f"run {run.id} is over"):
            Run.join(run.id)

    def test_a_run_is_alive_while_a_process_is_at_it(self) -> None:
        with Run.begin() as run:
            assert alive(run.id)
        assert not alive(run.id)
        assert not alive("261121-000000-0000")

    def test_what_was_kept_is_told_also_after_the_run(self) -> None:
        with Run.begin() as run:
            assert kept_of(run.id) == []
            run.keep("one cluster")
            run.keep("another")
        assert (run.kept, kept_of(run.id)) == (True, ["one cluster", "another"])
        forget(FakeEngine(), run.id)
        assert kept_of(run.id) == []

    def test_ids_sort_by_time_and_the_host_stays(self) -> None:
        with Run.begin() as first, Run.begin() as second:
            assert first.id != second.id
            assert first.id[:13] <= second.id[:13]
            assert first.labels[HOST_LABEL] == second.labels[HOST_LABEL] == host_id()


@pytest.mark.usefixtures("state")
class TestRemoval:
    def test_a_removal_under_way_is_waited_for(self) -> None:
        engine: Any = FakeEngine()
        with Run.begin() as run:
            engine.containers.add("node", run.labels, conflict(409))
            engine.networks.add("network", run.labels, conflict(403), conflict(403))
            assert run.remove(engine) == ["container node", "network network"]
        assert engine.names() == set()

    def test_what_vanished_meanwhile_is_no_trouble(self) -> None:
        engine: Any = FakeEngine()
        with Run.begin() as run:
            engine.volumes.add("volume", run.labels, docker.errors.NotFound("no such volume"))
            assert run.remove(engine) == ["volume volume"]

    def test_other_trouble_is_raised(self) -> None:
        engine: Any = FakeEngine()
        with Run.begin() as run:
            engine.containers.add("node", run.labels, conflict(500))
            with pytest.raises(docker.errors.APIError):
                run.remove(engine)


@pytest.mark.docker
def test_the_engine_is_left_as_it_was(client: docker.DockerClient, state: Path) -> None:
    tag = "kafka-conformance/test-sweep:1"
    with another_process() as (run_id, process), Run.begin() as alive:
        dead = Run.join(run_id)
        image = base(client, quiet)
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
        assert layers.present(client, tag) is None
        assert client.containers.get(kept.id).status == "created"
        assert len(alive.end(client)) == 1
    assert client.containers.list(all=True, filters={"label": f"{HOST_LABEL}={host_id()}"}) == []
    assert list((state / "runs").iterdir()) == []
