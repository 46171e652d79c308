"""Images of a real engine: of releases, derived ones, and ones of a user's own jars."""

from pathlib import Path

import docker
import docker.errors
import pytest

from fixtures.errors import ImageUnavailable, NotKafka
from fixtures.images import Image, build, derive_image, from_home, from_image, layers, obtain_image
from fixtures.images.base import base
from fixtures.images.image import version_of
from fixtures.runs import HOST_LABEL, Run, discard_progress, host_id
from tests.support.clients_jar import clients_jar
from tests.support.relabelled import relabelled

VERSION = "4.3.1"

pytestmark = pytest.mark.docker


@pytest.mark.usefixtures("state")
class TestARealImage:
    def test_what_is_known_about_it(self, client: docker.DockerClient) -> None:
        image = obtain_image(VERSION, client=client)
        assert (image.version, image.label) == (VERSION, VERSION)
        assert image.class_path == tuple(sorted(image.class_path))
        assert f"/opt/kafka/libs/kafka-clients-{VERSION}.jar" in image.class_path
        assert version_of(image.clients_jar) == VERSION

    def test_one_that_is_not_kafka(self, client: docker.DockerClient) -> None:
        debian = base(client, discard_progress)
        with pytest.raises(NotKafka, match=r"holds no Kafka.*--kafka-home"):
            from_image(debian, client=client)
        assert _left(client) == []

    def test_its_class_archive_fits_its_class_path(self, client: docker.DockerClient) -> None:
        image = obtain_image(VERSION, client=client)
        if image.cds is None:
            pytest.skip("pulled images bring no class archive of the kit")
        java = ["java", *image.java_options, "-Xshare:on", "-cp", ":".join(image.class_path), "-version"]
        with layers.workbench(client, image.id, java, "java -version", network_mode="none") as bench:
            bench.start()
            assert bench.wait(timeout=60)["StatusCode"] == 0, bench.logs().decode()

    def test_one_derived_from_it(self, client: docker.DockerClient) -> None:
        image = obtain_image(VERSION, client=client)
        with Run.begin() as run:
            tag = f"kafka-conformance/test-derived:{run.id}"
            files = {"/opt/agent/agent.jar": b"agent"}
            options = '-javaagent:/opt/agent/agent.jar=a -Dquoted="$x"'
            derived = derive_image(image, files, {"KAFKA_OPTS": options}, tag, run=run, client=client)
            assert derived.kafka_opts == ("-javaagent:/opt/agent/agent.jar=a", '-Dquoted="$x"')
            assert (derived.label, derived.cds) == (f"{VERSION}@{tag}", image.cds)
            assert from_image(tag, client=client) == Image(
                **{**vars(derived), "clients_jar": from_image(tag, client=client).clients_jar}
            )
            other = f"{tag}-other"
            files = {"/opt/agent/agent.jar": b"other"}
            changed = derive_image(image, files, {"KAFKA_OPTS": options}, other, run=run, client=client)
            assert len({image.jars, derived.jars, changed.jars}) == 3, "an agent is code of the build"
            assert sorted(run.end(client)) == [f"image {tag}", f"image {other}"]
        assert layers.find_image(client, image.reference) is not None

    def test_one_of_a_users_own_jars(self, client: docker.DockerClient, tmp_path: Path) -> None:
        """A vendor's build names a version of its own, and is judged as the one that it is made from."""
        home = relabelled(tmp_path / "kafka", VERSION, "9.3.1-ccs")
        image = from_home(home, judged_as=VERSION, client=client)
        try:
            assert (image.version, image.build, image.label) == (VERSION, "9.3.1-ccs", f"9.3.1-ccs@{home}")
            assert image.jars != obtain_image(VERSION, client=client).jars
            assert image.cds == build.ARCHIVE
            assert from_home(home, client=client).id == image.id
            plain = from_home(home, client=client)
            assert (plain.version, plain.build, plain.jar_version) == ("9.3.1-ccs", "", "9.3.1-ccs")
        finally:
            client.images.remove(image.reference, force=True)

    def test_jars_that_do_not_start(self, client: docker.DockerClient, tmp_path: Path) -> None:
        clients_jar(tmp_path / "libs")
        with pytest.raises(ImageUnavailable, match=r"(?s)ended with 1.*kafka\.tools\.StorageTool"):
            from_home(tmp_path, client=client)
        assert _left(client) == []


def _left(client: docker.DockerClient) -> list[str]:
    """The containers of this test, whose host id is its own: others run at the same time."""
    ours = {"label": f"{HOST_LABEL}={host_id()}"}
    return [str(found.name) for found in client.containers.list(all=True, filters=ours, ignore_removed=True)]
