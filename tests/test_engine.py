import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker.errors
import pytest

from fixtures import engine
from fixtures.errors import EngineMissing, EngineTrouble

Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Puts shell scripts on a PATH that has nothing else; `$HERE` is where they are."""
    here = tmp_path / "bin"
    here.mkdir()
    monkeypatch.setenv("PATH", str(here))

    def put(name: str, script: str) -> Path:
        path = here / name
        path.write_text(f"#!/bin/sh\nHERE={here}\nPATH=/usr/bin:/bin\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return put


class Host:
    """A host whose engine answers once the file `up` is there, whatever its real engine does."""

    def __init__(self, directory: Path) -> None:
        self.up = directory / "up"
        self.client: Any = object()

    def answering(self) -> tuple[Any, Exception | None]:
        return (self.client, None) if self.up.exists() else (None, OSError("no such socket"))


@pytest.fixture
def host(program: Program, tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """No engine, root, no systemd, and the tools for building are there."""
    found = Host(tmp_path / "bin")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(engine, "_answering", found.answering)
    monkeypatch.setattr(engine, "_SYSTEMD", tmp_path / "no-systemd")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program("debootstrap", "")
    program("mvn", "")
    return found


def test_an_engine_that_answers_is_used(host: Host) -> None:
    host.up.touch()
    assert engine.ensure(install=True) is host.client


def test_an_installed_engine_is_started_and_outlives_us(host: Host, program: Program) -> None:
    program("dockerd", "echo $$ $(ps -o sid= -p $$) > $HERE/session; touch $HERE/up; exec sleep 60")
    assert engine.ensure() is host.client
    process, session = (host.up.parent / "session").read_text().split()
    assert process == session, "it leads a session of its own, so no signal to ours reaches it"
    engine._daemons[-1].kill()
    engine._daemons[-1].wait()


def test_an_engine_that_does_not_start_shows_its_log(
    host: Host, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_LATE_SECONDS", 0.5)
    program("dockerd", "echo 'failed to mount cgroups'; exit 1")
    with pytest.raises(EngineMissing, match="failed to mount cgroups"):
        engine.ensure()


def test_an_engine_that_a_package_started_meanwhile_is_found(host: Host, program: Program) -> None:
    program("dockerd", "(sleep 0.3; touch $HERE/up) & echo 'pid file found, ensure docker is not running'; exit 1")
    assert engine.ensure() is host.client


def test_what_is_missing_is_installed_when_asked(host: Host, program: Program) -> None:
    (host.up.parent / "debootstrap").unlink()
    program("apt-get", 'echo "$@" >> $HERE/apt; case "$*" in *docker.io*) cp $HERE/engine $HERE/dockerd;; esac')
    program("engine", "touch $HERE/up; exec sleep 60")
    said: list[str] = []
    assert engine.ensure(install=True, progress=said.append) is host.client
    apt = (host.up.parent / "apt").read_text()
    assert "install -q -y debootstrap\n" in apt
    assert "install -q -y docker.io\n" in apt
    assert said[:2] == ["installing debootstrap", "installing docker.io"]
    engine._daemons[-1].kill()
    engine._daemons[-1].wait()


def test_a_failed_installation_repeats_the_command_and_its_words(host: Host, program: Program) -> None:
    program("apt-get", "echo 'E: no candidate'; exit 100")
    with pytest.raises(EngineMissing, match=r"(?s)`apt-get update -q` ended with 100.*E: no candidate"):
        engine.ensure(install=True)


@pytest.mark.parametrize("install", [False, True])
def test_without_rights_the_user_reads_what_to_do(host: Host, monkeypatch: pytest.MonkeyPatch, install: bool) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        EngineMissing, match=r"Install one as root with\n    apt-get update && apt-get install -y docker.io"
    ):
        engine.ensure(install=install)


def test_without_rights_an_installed_engine_is_named(
    host: Host, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program("dockerd", "")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EngineMissing, match="One is installed: start it as root with\n    systemctl start docker"):
        engine.ensure()


def test_an_engine_named_by_the_user_is_never_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineMissing, match=r"DOCKER_HOST is unix://.*: start that engine, or unset DOCKER_HOST"):
        engine.ensure(install=False)


def test_a_refused_socket_names_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    assert "usermod -aG docker" in engine._missing(PermissionError(13, "Permission denied"))


def test_a_full_disk_is_told_from_other_trouble() -> None:
    full = docker.errors.APIError("500", explanation="write /opt/kafka/libs/a.jar: no space left on device")
    assert "Make room" in str(engine.trouble_of(full, "building kafka-conformance/kafka:4.3.1"))
    other = engine.trouble_of(docker.errors.APIError("500", explanation="devmapper is broken"), "building an image")
    assert isinstance(other, EngineTrouble)
    assert str(other) == "building an image failed, the engine says: devmapper is broken"
