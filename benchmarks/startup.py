"""The start of a cluster compared with that of one plain broker process of the same version.

Absolute times depend more on the machine than on the kit, so both are measured in turn; the result is their ratio.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import docker
import msgspec

from fixtures.cluster import KRaftCluster, Topology
from fixtures.cluster.storage import META_PROPERTIES, bootstrap_files, meta_properties, pack_tar
from fixtures.engine import connect
from fixtures.images import Image
from fixtures.runs import Progress, Run
from fixtures.waiting import eventually
from fixtures.wire import NodeClient, Schemas, WireError
from protocol.errors import KitError

CLUSTER = Topology(name="startup", controllers=1, brokers=3)

_PROPERTIES = "/server.properties"
_CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
_WITHIN = 90.0
# The settings that a single node needs; everything else is Kafka's default.
_PLAIN = b"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://0.0.0.0:9092,CONTROLLER://localhost:9093
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
log.dirs=/kafka-data
"""


class StartupTimes(msgspec.Struct, frozen=True):
    """Seconds from the start until ready: of the cluster, and of the plain broker process."""

    cluster: float
    plain: float

    @property
    def ratio(self) -> float:
        return self.cluster / self.plain


def measure(image: Image, rounds: int, progress: Progress) -> list[StartupTimes]:
    """Start cluster and plain process in turn; the first two fill caches and do not count. Raises KitError."""
    client = connect()
    found = []
    with Run.begin() as run:
        try:
            for number in range(rounds + 1):
                one = StartupTimes(_cluster_seconds(image, run), _plain_seconds(client, image, run))
                progress(f"round {number}: {one.cluster:.1f} s, {one.plain:.1f} s{'' if number else ' (not counted)'}")
                found.append(one)
        finally:
            run.end(client)
    return found[1:]


def table(image: Image, rounds: Sequence[StartupTimes]) -> str:
    """Return median and spread of both times and of the rounds' ratios, as Markdown."""
    lines = [
        f"| Kafka {image.label}, {len(rounds)} rounds | median | lowest | highest |",
        "|---|---:|---:|---:|",
        _table_line("one controller and three brokers, ready", [one.cluster for one in rounds], " s"),
        _table_line("one plain broker process, answering", [one.plain for one in rounds], " s"),
        _table_line("ratio", [one.ratio for one in rounds], ""),
    ]
    return "\n".join(lines)


def _table_line(what: str, values: Sequence[float], unit: str) -> str:
    return f"| {what} | {median(values):.2f}{unit} | {min(values):.2f}{unit} | {max(values):.2f}{unit} |"


def _cluster_seconds(image: Image, run: Run) -> float:
    cluster = KRaftCluster(CLUSTER, image, run)
    with cluster:
        return _measure_seconds(cluster.boot)


def _plain_seconds(client: docker.DockerClient, image: Image, run: Run) -> float:
    """Return the seconds until a combined node, with JVM defaults and no class archive, answers ApiVersions."""
    schemas = Schemas.of_jar(image.clients_jar)
    files = bootstrap_files(client, run, image, {}) | {
        META_PROPERTIES: meta_properties(_CLUSTER_ID, 1),
        _PROPERTIES: _PLAIN,
    }
    began = time.monotonic()
    with _plain_node(client, image, run, files) as container:
        eventually(
            lambda: _broker_answers(container, schemas), within=_WITHIN, what="the plain broker answers", every=0.05
        )
        return time.monotonic() - began


@contextmanager
def _plain_node(client: docker.DockerClient, image: Image, run: Run, files: dict[str, bytes]) -> Iterator[Any]:
    container = client.containers.create(
        image.reference,
        entrypoint=[],
        command=["java", "-cp", ":".join(image.class_path), "kafka.Kafka", _PROPERTIES],
        user="0:0",
        ports={"9092/tcp": ("127.0.0.1", None)},
        labels=run.labels,
    )
    try:
        container.put_archive("/", pack_tar(files))
        container.start()
        yield container
    finally:
        container.remove(force=True, v=True)


def _broker_answers(container: Any, schemas: Schemas) -> bool:
    container.reload()
    if container.status == "exited":
        raise KitError(f"The plain broker ended. Its last words:\n{container.logs(tail=10).decode(errors='replace')}")
    published = container.ports.get("9092/tcp")
    if not published:
        return False
    try:
        with NodeClient("plain", "127.0.0.1", int(published[0]["HostPort"]), schemas, timeout=3) as client:
            client.call("ApiVersions", 3, client_software_name="kafka-conformance", client_software_version="1")
    except WireError:
        return False
    return True


def _measure_seconds(do: Callable[[], object]) -> float:
    began = time.monotonic()
    do()
    return time.monotonic() - began
