"""Fixtures that several of the kit's own tests share."""

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from hypothesis import HealthCheck, settings

from fixtures.engine import connect
from fixtures.runs import Run

# No test depends on how fast a machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory of this test's own: its sweep sees nothing of others."""
    monkeypatch.setenv("KAFKA_CONFORMANCE_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory of this test's own."""
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def client() -> docker.DockerClient:
    return connect()


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A run for the module's clusters; whatever carries its id is removed at the end."""
    with Run.begin() as run:
        yield run
        run.end(connect())
