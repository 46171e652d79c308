"""Nothing is left on the engine: not after Ctrl-C or SIGTERM, and after kill -9 not beyond the next start."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from fixtures.runs import RUN_LABEL, sweep
from fixtures.waiting import eventually

ROOT = Path(__file__).parents[2]
INTERRUPTED = 130

pytestmark = pytest.mark.docker


class Started:
    """A pytest of the kit in a process group of its own, with a state directory of its own."""

    def __init__(self, folder: Path, client: docker.DockerClient) -> None:
        self.log = folder / "log"
        self._client = client
        self._environment = os.environ | {"KAFKA_CONFORMANCE_STATE": str(folder / "state"), "PYTHONPATH": str(ROOT)}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-c",
            str(ROOT / "pyproject.toml"),
            "-n",
            "1",
            "--kafka-version",
            "4.3.1",
        ]
        command += [
            "--requirement",
            "KIP320-FETCH-02",
            "--conformance-out",
            str(folder / "out"),
            str(ROOT / "conformance" / "kip320" / "fencing.py"),
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def run(self) -> str:
        found = eventually(
            lambda: re.search(r"run (\d{6}-\S+)", self.log.read_text()), within=60, what="the run's id", state=self.text
        )
        return found[1]

    def text(self) -> str:
        return self.log.read_text()

    def left(self) -> list[str]:
        """Everything on the engine with the run's id."""
        ours = {"label": f"{RUN_LABEL}={self.run}"}
        containers = [c.name for c in self._client.containers.list(all=True, filters=ours, ignore_removed=True)]
        networks = [n.name for n in self._client.networks.list(filters=ours)]
        return containers + networks + [v.name for v in self._client.volumes.list(filters=ours)]

    def until_nodes_run(self) -> None:
        eventually(lambda: len(self.left()) > 3, within=60, what="a cluster that boots", state=self.text)

    def workers(self) -> list[int]:
        return children(self.process.pid)

    def sweep(self) -> None:
        subprocess.run([sys.executable, "-m", "conformance", "sweep"], cwd=ROOT, env=self._environment, check=True)


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in found.stdout.split()]


@pytest.fixture
def started(tmp_path: Path, client: docker.DockerClient) -> Started:
    return Started(tmp_path, client)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_and_says_so(started: Started, number: signal.Signals) -> None:
    """Ctrl-C, and a CI job that is cancelled."""
    started.until_nodes_run()
    os.kill(started.process.pid, number)
    assert started.process.wait(timeout=90) == INTERRUPTED, started.text()
    assert started.left() == []


def test_what_a_killed_run_left_is_swept_by_the_next_start(started: Started) -> None:
    started.until_nodes_run()
    for pid in [*started.workers(), started.process.pid]:
        os.kill(pid, signal.SIGKILL)
    started.process.wait(timeout=30)
    assert started.left(), "nothing was left, so there was nothing to sweep"
    started.sweep()
    assert started.left() == []


def test_a_killed_worker_is_replaced_and_leaves_nothing(started: Started) -> None:
    started.until_nodes_run()
    os.kill(started.workers()[0], signal.SIGKILL)
    started.process.wait(timeout=180)
    assert started.left() == []


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A pytest whose worker stands in the middle of a partition, and the id of the worker's run."""
    sign = tmp_path / "sign"
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-p", "no:conformance.plugin"]
    command += ["-n", "1", "--max-worker-restart", "0", str(ROOT / "tests" / "support" / "held_partition.py")]
    environment = os.environ | {"HELD_PARTITION_SIGN": str(sign), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True) as process:
        run = eventually(lambda: sign.read_text() if sign.exists() else None, within=90, what="a held partition")
        yield process, run
        process.kill()


def test_a_partition_whose_worker_was_killed_is_swept_by_the_next_start(
    held: tuple[subprocess.Popen[bytes], str], client: docker.DockerClient
) -> None:
    process, run = held
    ours = {"label": f"{RUN_LABEL}={run}"}
    nodes = client.containers.list(ignore_removed=True, filters=ours)
    assert "paused" in {node.status for node in nodes}
    assert len(nodes) > 6, "no helper holds the partition"
    for pid in children(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=60)
    assert client.containers.list(ignore_removed=True, filters=ours), "nothing was left, so there was nothing to sweep"
    removed = sweep(client)
    assert len([name for name in removed if name.startswith("container")]) >= len(nodes)
    assert client.containers.list(all=True, ignore_removed=True, filters=ours) == []
    assert client.networks.list(filters=ours) == []
    assert client.volumes.list(filters=ours) == []
