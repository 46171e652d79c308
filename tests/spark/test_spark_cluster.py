"""Merging and judging again on a real cluster, whose executors are processes of their own and have the code from a zip only."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as parquet
import pytest

from conformance.cli import rejudge
from history.observations import Observation
from tests.support.sample_run import EXAMPLES, write_run
from tests.support.spark_cluster import WITHIN, Cluster, cluster

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PACKAGES = ("protocol", "history", "fixtures", "strategies", "conformance", "reports")


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("code") / "kit.zip"
    subprocess.run([sys.executable, "-m", "zipfile", "-c", str(made), *PACKAGES], cwd=ROOT, check=True)
    return made


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code that docs/merging.md packs for a merge."""
    made = tmp_path_factory.mktemp("packed") / "kit.zip"
    (names,) = re.findall(r"zipfile -c kit\.zip (.+)", (ROOT / "docs" / "merging.md").read_text())
    subprocess.run([sys.executable, "-m", "zipfile", "-c", str(made), *names.split()], cwd=ROOT, check=True)
    return made


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "out")


@pytest.fixture
def both_work(spark_cluster: Cluster) -> Iterator[None]:
    """One more application, of which either worker's executor has finished tasks."""
    before = spark_cluster.tasks()
    yield
    after = spark_cluster.tasks()
    (ran,) = {name for tasks in after.values() for name in tasks} - {
        name for tasks in before.values() for name in tasks
    }
    assert all(tasks.get(ran, 0) > 0 for tasks in after.values()), after


@pytest.mark.usefixtures("both_work")
def test_a_merge_on_the_cluster_gives_the_bytes_of_one_machine(spark_cluster: Cluster, packed: Path, run: Path) -> None:
    there, here = run / "there", run / "here"
    done = spark_cluster.submit(packed, ROOT / "reports" / "__main__.py", "--in", run / "shards", "--out", there)
    assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "reports", "--in", str(run / "shards"), "--out", str(here), "--master", "local[2]"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=WITHIN)
    pages = {path.relative_to(here) for path in here.rglob("*") if path.is_file() and "parquet" not in path.parts}
    assert {Path("matrix.json"), Path("matrix.md"), Path("index.html")} < pages
    assert [page for page in sorted(pages) if (there / page).read_bytes() != (here / page).read_bytes()] == []
    rows = [parquet.read_table(out / "parquet" / "observations").to_pylist() for out in (there, here)]
    assert sorted(map(str, rows[0])) == sorted(map(str, rows[1]))


@pytest.mark.usefixtures("both_work")
def test_judging_again_on_the_cluster_gives_the_bytes_of_one_process(
    spark_cluster: Cluster, code: Path, run: Path
) -> None:
    done = spark_cluster.submit(code, ROOT / "conformance" / "submit" / "rejudge.py", "--out", run, "--spark")
    assert (done.returncode, done.stdout) == (0, "the same observations, byte for byte\n"), done.stderr
    rows = parquet.read_table(run / "rejudged" / "parquet").to_pylist()
    assert len(rows) == EXAMPLES
    there = [rejudge.canonical_lines(msgspec.convert(row["observations"], list[Observation])) for row in rows]
    assert rejudge.main(["--out", str(run)]) == 0
    here = [path.read_bytes() for path in (run / "rejudged").glob("*.jsonl")]
    assert sorted(b"".join(there).splitlines()) == sorted(b"".join(here).splitlines())
