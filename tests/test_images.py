import io
import re
import shutil
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docker
import docker.errors
import pytest

from fixtures.errors import EngineTrouble, ImageUnavailable, NotKafka
from fixtures.images import Image, build, derive, from_home, from_image, layers, maven, obtain, sources
from fixtures.images.base import base
from fixtures.images.image import JVM_FLAGS, _Chunks, is_clients_jar, version_of
from fixtures.runs import RUN_LABEL, Run, quiet
from tests.fake_engine import FakeEngine

VERSION = "4.3.1"


def jar(path: Path, entries: dict[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return path


def clients_jar(directory: Path, version: str = "9.9.9") -> Path:
    return jar(directory / f"kafka-clients-{version}.jar", {"kafka/kafka-version.properties": f"version={version}\n"})


class TestWhatAJarSays:
    def test_its_version(self, tmp_path: Path) -> None:
        assert version_of(clients_jar(tmp_path, "4.4.0-SNAPSHOT")) == "4.4.0-SNAPSHOT"

    @pytest.mark.parametrize("entries", [{}, {"kafka/kafka-version.properties": "commitId=1\n"}])
    def test_nothing(self, tmp_path: Path, entries: dict[str, str]) -> None:
        with pytest.raises(NotKafka, match=re.escape(str(tmp_path))):
            version_of(jar(tmp_path / "a.jar", entries))

    def test_it_is_torn(self, tmp_path: Path) -> None:
        (tmp_path / "a.jar").write_bytes(b"PK\x03\x04")
        with pytest.raises(NotKafka, match="is no kafka-clients jar of a release"):
            version_of(tmp_path / "a.jar")

    @pytest.mark.parametrize(
        ("name", "is_one"),
        [
            ("kafka-clients-4.3.1.jar", True),
            ("kafka-clients-4.4.0-SNAPSHOT.jar", True),
            ("kafka-clients-4.3.1-test.jar", False),
            ("kafka-streams-4.3.1.jar", False),
        ],
    )
    def test_its_name(self, name: str, is_one: bool) -> None:
        assert is_clients_jar(name) is is_one


class TestADistribution:
    def names(self, home: Path) -> list[str]:
        with sources._libs(home) as jars:
            return [found.name for found in jars]

    @pytest.mark.usefixtures("cache")
    def test_its_libs_in_any_form(self, tmp_path: Path) -> None:
        home = tmp_path / "kafka_2.13-9.9.9"
        clients_jar(home / "libs")
        jar(home / "libs" / "a.jar", {})
        jar(home / "site-docs" / "b.jar", {})
        source = tmp_path / "source" / "core" / "build" / "distributions"
        source.mkdir(parents=True)
        with tarfile.open(source / "kafka_2.13-9.9.9.tgz", "w:gz") as archive:
            archive.add(home, "kafka_2.13-9.9.9")
        (source / "kafka_2.13-9.9.9-site-docs.tgz").write_bytes(b"")
        for form in (home, source / "kafka_2.13-9.9.9.tgz", tmp_path / "source"):
            assert self.names(form) == ["a.jar", "kafka-clients-9.9.9.jar"]

    @pytest.mark.usefixtures("cache")
    def test_it_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "libs").mkdir()
        (tmp_path / "file.tgz").write_text("not an archive")
        for home, words in (
            (tmp_path, "has no libs/kafka-clients"),
            (tmp_path / "file.tgz", "can't be read as a Kafka distribution"),
            (tmp_path / "nowhere", "can't be read as a Kafka distribution"),
        ):
            with pytest.raises(NotKafka, match=words):
                self.names(home)


def test_the_class_archive_is_named_only_where_there_is_one(tmp_path: Path) -> None:
    plain = Image("r", "i", "9.9.9", "9.9.9", (), (), tmp_path, cds=None)
    assert plain.java_options == JVM_FLAGS
    trained = Image("r", "i", "9.9.9", "9.9.9", (), (), tmp_path, cds="/a.jsa")
    assert trained.java_options == (*JVM_FLAGS, "-XX:SharedArchiveFile=/a.jsa", "-Xshare:auto")


@pytest.mark.parametrize("sizes", [(512, 512), (1, 1023), (1024,), (1000, 24)])
def test_an_archive_is_read_whatever_its_chunks(sizes: Sequence[int]) -> None:
    content = bytes(range(256)) * 4
    chunks = iter([content[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in range(len(sizes))])
    stream = _Chunks(chunks)
    assert [stream.read(500), stream.read(500), stream.read(500), stream.read(500)] == [
        content[:500],
        content[500:1000],
        content[1000:],
        b"",
    ]


@pytest.mark.usefixtures("state")
def test_a_full_disk_while_building_is_said_and_cleaned_up() -> None:
    class Container:
        def put_archive(self, *_: Any) -> None:
            raise docker.errors.APIError("500", explanation="write /opt/kafka/libs/a.jar: no space left on device")

    engine: Any = FakeEngine()
    engine.containers.create = lambda *_, **options: (
        engine.containers.add("bench", options["labels"]),
        Container(),
    )[1]
    with (
        pytest.raises(EngineTrouble, match=r"(?s)The disk is full, building it failed.*Make room"),
        layers.workbench(engine, "base", [], "building it") as bench,
    ):
        layers.put(bench, {"/opt/kafka/libs/a.jar": b""})
    assert engine.names() == set()


@pytest.mark.usefixtures("cache")
def test_a_full_cache_disk_is_said() -> None:
    with pytest.raises(EngineTrouble, match="The disk is full"), sources._room("obtaining Kafka 4.3.1"):
        raise OSError(28, "No space left on device")


def test_files_are_put_with_one_time_and_readable() -> None:
    seen = io.BytesIO()

    class Container:
        def put_archive(self, path: str, data: Any) -> None:
            assert path == "/"
            seen.write(data.read())

    layers.put(Container(), {"/opt/b": b"2", "/opt/a": Path(__file__)})
    seen.seek(0)
    with tarfile.open(fileobj=seen) as archive:
        assert [(m.name, m.mode, m.mtime) for m in archive] == [
            ("opt/a", 0o644, layers._MTIME),
            ("opt/b", 0o644, layers._MTIME),
        ]


# From here on with a real engine and a real Kafka.


@pytest.mark.docker
@pytest.mark.usefixtures("state")
class TestARealImage:
    def test_what_is_known_about_it(self, client: docker.DockerClient) -> None:
        image = obtain(VERSION, client=client)
        assert (image.version, image.label) == (VERSION, VERSION)
        assert image.class_path == tuple(sorted(image.class_path))
        assert f"/opt/kafka/libs/kafka-clients-{VERSION}.jar" in image.class_path
        assert version_of(image.clients_jar) == VERSION

    def test_one_that_is_not_kafka(self, client: docker.DockerClient) -> None:
        with pytest.raises(NotKafka, match=r"holds no Kafka.*--kafka-home"):
            from_image(base(client, quiet), client=client)
        assert client.containers.list(all=True, filters={"label": RUN_LABEL, "status": "created"}) == []

    def test_its_class_archive_fits_its_class_path(self, client: docker.DockerClient) -> None:
        image = obtain(VERSION, client=client)
        if image.cds is None:
            pytest.skip("pulled images bring no class archive of the kit")
        java = ["java", *image.java_options, "-Xshare:on", "-cp", ":".join(image.class_path), "-version"]
        with layers.workbench(client, image.id, java, "java -version", network_mode="none") as bench:
            bench.start()
            assert bench.wait(timeout=60)["StatusCode"] == 0, bench.logs().decode()

    def test_one_derived_from_it(self, client: docker.DockerClient) -> None:
        image = obtain(VERSION, client=client)
        with Run.begin() as run:
            tag = f"kafka-conformance/test-derived:{run.id}"
            files = {"/opt/agent/agent.jar": b"agent"}
            options = '-javaagent:/opt/agent/agent.jar=a -Dquoted="$x"'
            derived = derive(image, files, {"KAFKA_OPTS": options}, tag, run=run, client=client)
            assert derived.kafka_opts == ("-javaagent:/opt/agent/agent.jar=a", '-Dquoted="$x"')
            assert (derived.label, derived.cds) == (f"{VERSION}@{tag}", image.cds)
            assert from_image(tag, client=client) == Image(
                **{**vars(derived), "clients_jar": from_image(tag, client=client).clients_jar}
            )
            assert run.end(client) == [f"image {tag}"]
        assert layers.present(client, image.reference) is not None

    def test_one_of_a_users_own_jars(self, client: docker.DockerClient, tmp_path: Path) -> None:
        home = tmp_path / "kafka"
        shutil.copytree(maven.jars(VERSION, quiet), home / "libs")
        image = from_home(home, client=client)
        try:
            assert image.label == f"{VERSION}@{home}"
            assert image.cds == build.ARCHIVE
            assert from_home(home, client=client).id == image.id
        finally:
            client.images.remove(image.reference, force=True)

    def test_jars_that_do_not_start(self, client: docker.DockerClient, tmp_path: Path) -> None:
        clients_jar(tmp_path / "libs")
        with pytest.raises(ImageUnavailable, match=r"(?s)ended with 1.*kafka\.tools\.StorageTool"):
            from_home(tmp_path, client=client)
        assert client.containers.list(all=True, filters={"label": RUN_LABEL, "status": "exited"}) == []
