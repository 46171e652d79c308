"""Small clusters of Kafka in Docker for the scripts of the findings: Docker's command line and kafka-python, nothing else."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any

SEEN, NOT_SEEN, TROUBLE, INTERRUPTED = 1, 0, 3, 130
MINUTES = 3
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
SETTINGS = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,HOST:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
    "log.dirs": "/data/log",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "num.io.threads": "3",
    "num.network.threads": "2",
    "log.cleaner.dedupe.buffer.size": "2097152",
}
LOG4J = """log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n"""
LOG4J2 = """appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=INFO
rootLogger.appenderRef.out.ref=out"""
START = """set -e
mkdir -p /data; printf '%s' "$PROPERTIES" > /tmp/server.properties
printf '%s\\n' "$LOG4J" > /tmp/log4j.properties; printf '%s\\n' "$LOG4J2" > /tmp/log4j2.properties
LOGS="-Dlog4j.configuration=file:/tmp/log4j.properties -Dlog4j2.configurationFile=/tmp/log4j2.properties"
FLAGS="-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $LOGS"; LIBS='/opt/kafka/libs/*'
[ -f /data/log/meta.properties ] || java $FLAGS -cp "$LIBS" kafka.tools.StorageTool format -t $CLUSTER -c /tmp/server.properties
exec java $FLAGS -cp "$LIBS" kafka.Kafka /tmp/server.properties
"""


class Trouble(Exception):
    """The finding could not be tried; the text says what is missing."""


def docker(*words: str, check: bool = True, timeout: float | None = 120) -> str:
    """Run a command of Docker and return what it prints."""
    try:
        done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=timeout)
    except FileNotFoundError:
        raise Trouble("there is no `docker` on this machine; install Docker's command line and engine") from None
    if check and done.returncode:
        raise Trouble(f"docker {words[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


# --- the cluster


class Node:
    """A broker, or broker and controller in one, in a container; `port` is published on 127.0.0.1."""

    def __init__(self, cluster: Cluster, id: int) -> None:
        self.id, self.cluster = id, cluster
        self.name = f"{cluster.name}-{id}"
        self.port = free_port()
        self.controller_port = free_port()

    def create(self, **settings: str) -> None:
        """Make the container; node 1 is the only controller."""
        roles = "broker,controller" if self.id == 1 else "broker"
        listeners = "INTERNAL://:9092,HOST://:9192" + (",CONTROLLER://:9093" if self.id == 1 else "")
        own = {
            "node.id": str(self.id),
            "process.roles": roles,
            "controller.quorum.voters": f"1@{self.cluster.name}-1:9093",
            "listeners": listeners,
            "advertised.listeners": f"INTERNAL://{self.name}:9092,HOST://127.0.0.1:{self.port}",
        }
        text = "\n".join(f"{key}={value}" for key, value in {**SETTINGS, **own, **settings}.items())
        ports = ["-p", f"127.0.0.1:{self.port}:9192"]
        ports += ["-p", f"127.0.0.1:{self.controller_port}:9093"] if self.id == 1 else []
        docker(
            *("create", "--name", self.name, "--hostname", self.name, "--network", self.cluster.name, *ports),
            *("-v", f"{self.name}:/data", "-e", f"PROPERTIES={text}", "-e", f"CLUSTER={CLUSTER_ID}"),
            *("-e", f"LOG4J={LOG4J}", "-e", f"LOG4J2={LOG4J2}", "--user", "0"),
            *("--entrypoint", "sh", self.cluster.image, "-c", START),
        )

    def start(self, wait: bool = True) -> None:
        """Start the process, and wait until it answers."""
        docker("start", self.name)
        if wait:
            until(self._is_up, f"broker {self.id} is up", at_most=90)

    def kill(self) -> None:
        docker("kill", self.name)

    def stop(self) -> None:
        docker("stop", "-t", "60", self.name)

    def is_running(self) -> bool:
        return docker("inspect", "-f", "{{.State.Running}}", self.name) == "true"

    def log(self) -> str:
        """Return what the process has printed."""
        done = subprocess.run(["docker", "logs", self.name], capture_output=True, text=True)
        return done.stdout + done.stderr

    def on_disk(self, script: str) -> str:
        """Run shell on the files of the node, which are below /data, also while it is down."""
        return docker("run", "--rm", "-v", f"{self.name}:/data", "--entrypoint", "sh", self.cluster.image, "-c", script)

    def ask(self, request: Any) -> Any:
        """Send a request of kafka-python, with its version, and return the answer."""
        return ask(self.port, request)

    def _is_up(self) -> bool:
        from kafka.protocol.metadata import MetadataRequest

        if not self.is_running():
            raise Trouble(f"broker {self.id} ended while it was started:\n{self.log()[-2000:]}")
        try:
            return self.id in {one.node_id for one in self.ask(MetadataRequest(version=1, topics=None)).brokers}
        except OSError:
            return False


class Cluster:
    """Nodes on one network of Docker; node 1 is the controller, and a broker as well."""

    def __init__(self, image: str, version: str) -> None:
        self.image, self.version = image, version
        self.name = f"kafka-finding-{os.getpid()}"
        self.nodes: dict[int, Node] = {}
        self._steps = 0

    def boot(self, brokers: int = 1, **settings: str) -> None:
        """Start this many nodes; settings have underscores for dots."""
        docker("network", "create", self.name)
        for id in range(1, brokers + 1):
            self.nodes[id] = Node(self, id)
            self.nodes[id].create(**{key.replace("_", "."): value for key, value in settings.items()})
        self.step(f"start {brokers} broker{'s' * (brokers > 1)}, of which the first is the controller as well")
        for node in self.nodes.values():
            node.start(wait=node.id == 1)
        until(lambda: len(alive(self)) == brokers, "all brokers are registered", at_most=90)

    def __getitem__(self, id: int) -> Node:
        return self.nodes[id]

    def step(self, text: str) -> None:
        """Tell a step that is about to be taken."""
        self._steps += 1
        print(f"{self._steps}. {text}", flush=True)

    def remove(self) -> None:
        """Remove containers, volumes and the network."""
        for node in self.nodes.values():
            docker("rm", "-f", "-v", node.name, check=False)
            docker("volume", "rm", "-f", node.name, check=False)
        docker("network", "rm", self.name, check=False)


def tell(text: str) -> None:
    """Tell what was seen."""
    print(f"   {text}", flush=True)


# --- requests


def ask(port: int, request: Any) -> Any:
    """Send one request to 127.0.0.1 and return its decoded answer."""
    from kafka.protocol.api_message import ApiMessage  # noqa: F401  (a clear error if kafka-python is old)

    request.with_header(correlation_id=1, client_id="finding")
    frame = exchange(port, request.encode(header=True, framed=True))
    kind = answers()[type(request).__name__.replace("Request", "Response")]
    return kind.decode(frame, version=request.API_VERSION, header=True)


def answers() -> dict[str, Any]:
    """Return kafka-python's classes of answers by name."""
    from kafka.protocol import admin, consumer, metadata, producer

    return {name: vars(module)[name] for module in (admin, consumer, metadata, producer) for name in vars(module)}


def exchange(port: int, frame: bytes) -> bytes:
    """Send a frame and return the next one, without its length."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=40)) as wire:
        wire.sendall(frame)
        (size,) = struct.unpack(">i", _read(wire, 4))
        return _read(wire, size)


def _read(wire: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = wire.recv(size - len(data))
        if not part:
            raise ConnectionResetError("the broker closed the connection")
        data += part
    return data


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


# --- waiting


def alive(cluster: Cluster, node: int = 1) -> set[int]:
    """Return the brokers that are not fenced, by Metadata."""
    from kafka.protocol.metadata import MetadataRequest

    return {one.node_id for one in cluster[node].ask(MetadataRequest(version=1, topics=[])).brokers}


def until(holds: Callable[[], bool], what: str, at_most: float = 60) -> None:
    """Ask until it holds; Trouble if it never does."""
    refused = _wait(holds, at_most)
    if refused is not None:
        raise Trouble(f"waited {at_most:.0f} s in vain: {what}{refused}")


def waits(holds: Callable[[], bool], at_most: float) -> bool:
    """True if it holds within this time."""
    return _wait(holds, at_most) is None


def _wait(holds: Callable[[], bool], at_most: float) -> str | None:
    """Return None once it holds; after this time the error of the last try, if it had one: a broker may be down, or not up."""
    end, refused = time.monotonic() + at_most, ""
    while time.monotonic() <= end:
        try:
            if holds():
                return None
            refused = ""
        except OSError as error:
            refused = f" ({error})"
        time.sleep(0.3)  # between two looks, for what a broker does not tell by itself
    return refused


# --- running a script


Play = Callable[["Cluster"], tuple[bool, str]]


def run(play: Play, title: str, promised: str) -> None:
    """Play a finding on the image that the command line names; ends the process with the exit code.

    `play` takes the steps and returns True if the deviation was seen, and what came in words.
    """
    parser = argparse.ArgumentParser(description=f"{title}. Exit code 1: seen; 0: not seen; 3: it could not be tried.")
    one = parser.add_mutually_exclusive_group(required=True)
    one.add_argument("--image", help="an image with Kafka's jars in /opt/kafka/libs, such as apache/kafka:4.3.1")
    one.add_argument("--version", help="a version of apache/kafka")
    options = parser.parse_args()
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGALRM, _late)
    try:
        code = _played(play, options.image or f"apache/kafka:{options.version}", title, promised)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (Trouble, OSError, subprocess.TimeoutExpired) as trouble:
        print(f"could not be tried: {trouble}", flush=True)
        code = TROUBLE
    except Exception:  # Python would end with 1, which says that the deviation was seen
        traceback.print_exc()
        code = TROUBLE
    words = {SEEN: "deviation seen", NOT_SEEN: "deviation not seen", TROUBLE: "not tried", INTERRUPTED: "interrupted"}
    print(f"exit {code}, {words[code]}, after {time.monotonic() - begin:.0f} s")
    sys.exit(code)


def _played(play: Play, image: str, title: str, promised: str) -> int:
    version = check(image)
    print(f"{title}: Kafka {version}\n", flush=True)
    with cluster_of(image, version) as cluster:
        seen, came = play(cluster)
    print(f"\npromised: {promised}\ncame:     {came}\n")
    return SEEN if seen else NOT_SEEN


@contextmanager
def cluster_of(image: str, version: str) -> Iterator[Cluster]:
    """Yield a cluster that is removed in the end, whatever happens."""
    cluster = Cluster(image, version)
    signal.alarm(MINUTES * 60)
    try:
        yield cluster
    finally:
        signal.alarm(0)
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        cluster.remove()


def check(image: str) -> str:
    """Return the version of Kafka in an image; raises Trouble if something that a script needs is missing."""
    try:
        from kafka.protocol.api_message import ApiMessage  # noqa: F401
    except ImportError:
        raise Trouble("kafka-python 3.0 or later is missing: pip install 'kafka-python>=3.0'") from None
    if int(docker("info", "--format", "{{.NCPU}}")) < 2:
        raise Trouble("Docker has one core; a cluster needs two to keep its bounds")
    if subprocess.run(["docker", "image", "inspect", image], capture_output=True).returncode:
        print(f"pulling {image}", flush=True)
        docker("pull", "-q", image, timeout=None)
    jars = docker("run", "--rm", "--entrypoint", "sh", image, "-c", "ls /opt/kafka/libs", check=False)
    versions = [jar[len("kafka-clients-") : -len(".jar")] for jar in jars.split() if jar.startswith("kafka-clients-")]
    if not versions:
        raise Trouble(f"{image} is no image of Kafka: it has no kafka-clients jar in /opt/kafka/libs")
    return versions[0]


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _late(number: int, frame: FrameType | None) -> None:
    raise Trouble(f"it took longer than {MINUTES} minutes; the machine is too busy")
