"""Scripts of the findings on real brokers: what they end with, and that they leave nothing behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import docker
import pytest

from fixtures.images import obtain_image
from fixtures.images.base import base
from fixtures.runs import discard_progress

FOLDER = Path(__file__).parents[2] / "docs/findings"

pytestmark = pytest.mark.docker


def _begin(name: str, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(FOLDER / name / "reproduce.py"), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _left(client: docker.DockerClient, script: subprocess.Popen[str]) -> list[str]:
    """Return the names of what a script made, and is still there."""
    containers = client.containers.list(all=True, ignore_removed=True)
    found = [*containers, *client.volumes.list(), *client.networks.list()]
    return [one.name for one in found if one.name.startswith(f"kafka-finding-{script.pid}")]


@pytest.mark.parametrize(
    ("name", "version", "code"),
    [
        ("zombie-aborts-its-owner", "4.3.1", 1),
        ("last-stable-offset-below-log-start", "4.3.1", 1),
        ("last-stable-offset-below-log-start", "3.9.2", 0),
    ],
)
def test_a_script_sees_what_its_page_says(name: str, version: str, code: int, client: docker.DockerClient) -> None:
    script = _begin(name, "--image", obtain_image(version, client=client).id)
    out, _ = script.communicate(timeout=240)
    assert script.returncode == code, out
    assert _left(client, script) == []


def test_an_image_without_kafka_and_one_that_does_not_exist(client: docker.DockerClient) -> None:
    for image, message in (
        (base(client, discard_progress), "is no image of Kafka"),
        ("kafka-finding/none:0", "docker pull failed"),
    ):
        script = _begin("zombie-aborts-its-owner", "--image", image)
        out, _ = script.communicate(timeout=120)
        assert script.returncode == 3
        assert message in out


def test_nothing_is_left_after_an_interrupt(client: docker.DockerClient) -> None:
    script = _begin("zombie-aborts-its-owner", "--image", obtain_image("4.3.1", client=client).id)
    assert script.stdout is not None
    while not script.stdout.readline().startswith("1. start"):
        assert script.poll() is None
    end = time.monotonic() + 60
    while not _left(client, script) and time.monotonic() < end:
        assert script.poll() is None
    script.send_signal(signal.SIGINT)
    script.communicate(timeout=120)
    assert script.returncode == 130
    assert _left(client, script) == []
