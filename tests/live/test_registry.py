"""Images from real registries on this machine: Debian's, and one that answers every request with an error."""

import io
import shutil
import socket
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import docker
import docker.errors
import pytest
import requests

from fixtures.errors import ImageUnavailable
from fixtures.images import from_image, maven, obtain_image, pull, sources
from fixtures.waiting import eventually

pytestmark = pytest.mark.docker


@pytest.fixture(autouse=True)
def _forget_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "_silent", set())
    monkeypatch.delenv(pull.REGISTRY_VARIABLE, raising=False)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Debian's docker-registry on a free port of 127.0.0.1, empty at first."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("needs `apt-get install docker-registry`")
    directory = tmp_path_factory.mktemp("registry")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = directory / "config.yml"
    config.write_text(
        f"version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {directory}/data\n"
        f"http:\n  addr: {address}\n"
    )
    with subprocess.Popen([program, "serve", str(config)], stderr=subprocess.DEVNULL) as process:
        eventually(lambda: _answers(address), within=20, what="the registry answers", every=0.1)
        yield address
        process.terminate()


def _answers(address: str) -> bool:
    try:
        return requests.get(f"http://{address}/v2/", timeout=5).ok
    except requests.exceptions.ConnectionError:
        return False


@contextmanager
def pushed(client: docker.DockerClient, reference: str, version: str | None) -> Iterator[str]:
    """A tiny image, with a kafka-clients jar of that version if there is one, in the registry and not on the engine."""
    repository, _, tag = reference.rpartition(":")
    client.api.import_image_from_data(_files(version), repository=repository, tag=tag)
    answer = client.api.push(repository, tag=tag)
    assert "error" not in answer, answer
    client.images.remove(reference, force=True)
    yield reference
    client.images.remove(reference, force=True)


def _files(version: str | None) -> bytes:
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("kafka/kafka-version.properties", f"commitId=0\nversion={version}\n")
    name = f"opt/kafka/libs/kafka-clients-{version}.jar" if version else "opt/other/readme"
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as files:
        entry = tarfile.TarInfo(name)
        entry.size = len(jar.getvalue())
        files.addfile(entry, io.BytesIO(jar.getvalue()))
    return tar.getvalue()


@pytest.mark.usefixtures("state", "cache")
class TestRealRegistry:
    def test_a_version_is_pulled_from_it(
        self, client: docker.DockerClient, registry: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(pull.REGISTRY_VARIABLE, registry)
        with pushed(client, f"{registry}/apache/kafka:3.3.0", "3.3.0") as reference:
            image = obtain_image("3.3.0", client=client)
            assert (image.reference, image.version, image.label) == (reference, "3.3.0", "3.3.0")
            assert image.class_path == ("/opt/kafka/libs/kafka-clients-3.3.0.jar",)
            assert image.cds is None
            assert not any("SharedArchiveFile" in option for option in image.java_options)

    def test_a_tag_that_lies_about_its_version_is_refused(
        self, client: docker.DockerClient, registry: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(pull.REGISTRY_VARIABLE, registry)
        # An image of the kit's own that is present would be taken first.
        monkeypatch.setattr(sources, "own_tag", lambda version: f"kafka-conformance/test:{version}")
        with (
            pushed(client, f"{registry}/apache/kafka:3.3.1", "3.3.0"),
            pytest.raises(ImageUnavailable, match=r"holds Kafka 3\.3\.0, not 3\.3\.1"),
        ):
            obtain_image("3.3.1", client=client)

    def test_what_it_does_not_have_is_built(
        self, client: docker.DockerClient, registry: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv(pull.REGISTRY_VARIABLE, registry)

        def build(client: docker.DockerClient, jars: Any, tag: str, progress: Any) -> None:
            client.api.import_image_from_data(_files("3.4.0"), repository=tag.rpartition(":")[0], tag="3.4.0")

        monkeypatch.setattr(sources, "build_image", build)
        monkeypatch.setattr(sources, "own_tag", lambda version: f"kafka-conformance/test:{version}")
        monkeypatch.setattr(maven, "jar_directory", lambda *_: tmp_path)
        progress: list[str] = []
        image = obtain_image("3.4.0", client=client, progress=progress.append)
        client.images.remove(image.reference, force=True)
        assert image.reference == "kafka-conformance/test:3.4.0"
        assert progress == [f"{registry}/apache/kafka:3.4.0: the registry doesn't have it"]

    def test_a_users_image_is_pulled_and_labelled_by_its_reference(
        self, client: docker.DockerClient, registry: str
    ) -> None:
        with pushed(client, f"{registry}/our/kafka:blue", "4.3.1") as reference:
            assert from_image(reference, client=client).label == f"4.3.1@{reference}"

    @pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
    def test_a_registry_in_trouble_is_an_error(
        self, client: docker.DockerClient, status: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with answering(status) as address:
            monkeypatch.setenv(pull.REGISTRY_VARIABLE, address)
            with pytest.raises(ImageUnavailable, match="can't be pulled"):
                obtain_image("3.3.0", client=client)

    def test_a_users_image_that_nobody_has(self, client: docker.DockerClient) -> None:
        with pytest.raises(ImageUnavailable, match="neither on the engine nor can it be pulled"):
            from_image("127.0.0.1:1/our/kafka:none", client=client)


@contextmanager
def answering(status: int) -> Iterator[str]:
    """A registry that answers every question with that status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/v2/" else status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
