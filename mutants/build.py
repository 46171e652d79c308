"""The agent's jar, and images of Kafka with a mutant in them."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

from fixtures.engine import connect
from fixtures.images import Image, from_image, layers, obtain_image
from fixtures.runs import Progress, discard_progress
from history.paths import cache_dir
from mutants import mutant
from protocol.errors import KitError

SOURCES = Path(__file__).with_name("agent")
AGENT_INSIDE = "/opt/mutants/agent.jar"

_SECONDS = 600
_REFUSED = "-XX:+NoOptionOfAnyJVM"


class AgentNotBuilt(KitError):
    """Maven is missing, or could not build the agent's jar."""


def build_agent(progress: Progress = discard_progress, sources: Path = SOURCES) -> Path:
    """Return the agent's jar, built by Maven and cached under the hash of its sources.

    Equal sources give equal bytes. An interrupted build leaves nothing that a later one could mistake for a jar.
    """
    kept = cache_dir() / "mutants" / f"agent-{_hash(sources)}.jar"
    if kept.exists():
        return kept
    kept.parent.mkdir(exist_ok=True)
    progress("mutants: building the agent with Maven")
    with tempfile.TemporaryDirectory(prefix=".building-", dir=kept.parent) as scratch:
        os.replace(_package(sources, Path(scratch) / "agent"), kept)
    return kept


def mutant_image(name: str, base: Image, progress: Progress = discard_progress) -> Image:
    """Return `base` with the agent in it and KAFKA_OPTS that load the mutant after the base's own options.

    The image is kept, so that one base and one mutant are one image id, and so one column. A broker whose code
    does not fit the mutant writes the reason and does not start. Raises UnknownMutant, AgentNotBuilt, EngineTrouble.
    """
    planted = mutant(name)
    agent = build_agent(progress)
    options = " ".join([*base.kafka_opts, f"-javaagent:{AGENT_INSIDE}={planted.name}"])
    recipe = hashlib.sha256(f"{base.id} {agent.name} {options}".encode()).hexdigest()[:8]
    tag = f"kafka-conformance/mutant:{planted.name}-{base.version}-{recipe}"
    client = connect()
    with FileLock(cache_dir() / "mutants.lock"):
        if layers.find_image(client, tag) is None:
            with layers.workbench(client, base.id, [], f"planting {planted.name} in {base.reference}") as bench:
                layers.put_files(bench, {AGENT_INSIDE: agent})
                layers.commit(bench, tag, layers.KEPT, {"KAFKA_OPTS": options})
    return from_image(tag, client=client)


def empty_image(base: Image, progress: Progress = discard_progress) -> Image:
    """Return `base` with KAFKA_OPTS that no JVM accepts: each node ends as it starts, and nothing ever listens."""
    recipe = hashlib.sha256(base.id.encode()).hexdigest()[:8]
    tag = f"kafka-conformance/mutant:empty-{base.version}-{recipe}"
    client = connect()
    with FileLock(cache_dir() / "mutants.lock"):
        if layers.find_image(client, tag) is None:
            with layers.workbench(client, base.id, [], f"emptying {base.reference}") as bench:
                layers.commit(bench, tag, layers.KEPT, {"KAFKA_OPTS": _REFUSED})
    return from_image(tag, client=client)


def canary_image(name: str, version: str, progress: Progress = discard_progress) -> str:
    """Return the reference of a version's image with a mutant, or without a name of one in which nothing listens."""
    base = obtain_image(version, progress=progress)
    return (mutant_image(name, base, progress) if name else empty_image(base, progress)).reference


def _hash(sources: Path) -> str:
    files = [sources / "pom.xml", *sorted((sources / "src" / "main").rglob("*.java"))]
    summary = hashlib.sha256()
    for file in files:
        summary.update(f"{file.relative_to(sources)}\n{file.stat().st_size}\n".encode())
        summary.update(file.read_bytes())
    return summary.hexdigest()[:16]


def _package(sources: Path, project: Path) -> Path:
    """Build a copy, so that the checkout is unchanged and parallel builds do not interfere."""
    shutil.copytree(sources / "src" / "main", project / "src" / "main")
    shutil.copy(sources / "pom.xml", project)
    command = ["mvn", "-B", "-ntp", "-f", str(project / "pom.xml"), "package"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS)
    except FileNotFoundError:
        raise AgentNotBuilt(
            "There is no `mvn` on this machine, so the mutants' agent can't be built: "
            "install Maven (`apt-get install -y maven`)."
        ) from None
    except subprocess.TimeoutExpired:
        raise AgentNotBuilt(
            f"Maven did not build the mutants' agent within {_SECONDS} s: see what it waits for, "
            f"with `mvn -f {sources} package`."
        ) from None
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
        output = "\n".join(errors[:8]) or (done.stdout + done.stderr)[-2000:]
        raise AgentNotBuilt(
            f"The mutants' agent can't be built. Try `mvn -f {sources} package`. Maven's output:\n{output}"
        )
    return project / "target" / "agent.jar"
