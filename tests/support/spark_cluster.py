"""A standalone cluster of Spark as processes of this machine: a master, and two workers with a core each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from fixtures.waiting import eventually

WORKERS = ("one", "two")
WITHIN = 600.0
"""The most seconds that a start or a job may take on a busy machine."""

_SPARK = Path(pyspark.__file__).parent
_MASTER = re.compile(r"spark://127\.0\.0\.1:\d+")
_REGISTERED = re.compile("Successfully registered with master")
_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SUBMITTED = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": _SMALL,
    "spark.executor.extraJavaOptions": _SMALL,
    "spark.executor.memory": "512m",
    # Tasks wait for both executors, so that none does all of them before the other has started.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{WITHIN:.0f}s",
    "spark.network.timeout": f"{WITHIN:.0f}s",
}


class Cluster:
    """The address of the master, and the folders in which workers keep the output of their executors."""

    def __init__(self, master: str, folder: Path) -> None:
        self.master = master
        self._folder = folder

    def submit(self, code: Path, script: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `spark-submit` with the code as a zip, in a folder without the code."""
        settings = [part for name, value in _SUBMITTED.items() for part in ("--conf", f"{name}={value}")]
        command = [_SPARK / "bin" / "spark-submit", "--master", self.master, *settings, "--py-files", code, script]
        return subprocess.run(
            [str(part) for part in (*command, *arguments)],
            capture_output=True, text=True, timeout=2 * WITHIN, cwd=self._folder, env=_environment(), check=False,
        )  # fmt: skip

    def tasks(self) -> dict[str, dict[str, int]]:
        """Count the tasks that executors of each worker have finished, by application."""
        return {worker: dict(sorted(self._finished(worker))) for worker in WORKERS}

    def _finished(self, worker: str) -> Iterator[tuple[str, int]]:
        for output in (self._folder / worker).glob("app-*/*/stderr"):
            yield output.parent.parent.name, output.read_text(errors="replace").count("Finished task")


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Yield a started cluster; end its processes afterwards."""
    with ExitStack() as stack:
        master = stack.enter_context(_process(folder / "master.log", "master.Master", _MASTER))
        for name in WORKERS:
            arguments = ("--cores", "1", "--memory", "600m", "--work-dir", str(folder / name), master)
            stack.enter_context(_process(folder / f"{name}.log", "worker.Worker", _REGISTERED, *arguments))
        yield Cluster(master, folder)


@contextmanager
def _process(output: Path, name: str, ready: re.Pattern[str], *arguments: str) -> Iterator[str]:
    """Run one of Spark's classes (`spark-class` execs it); yield its line that says it is ready."""
    command = [str(_SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
    command += ["--port", "0", "--webui-port", "0", *arguments]
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=_environment())
    try:
        found = eventually(
            lambda: process.poll() is not None or ready.search(output.read_text()),
            within=WITHIN, what=f"a ready {name}", state=output.read_text,
        )  # fmt: skip
        if not isinstance(found, re.Match):
            raise AssertionError(f"{name} ended with {process.returncode}: {output.read_text()}")
        yield found.group()
    finally:
        process.terminate()
        process.wait(WITHIN)


def _environment() -> dict[str, str]:
    return os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "192m",
        "SPARK_DAEMON_JAVA_OPTS": f"{_SMALL} -Dspark.worker.timeout={WITHIN:.0f}",
    }
