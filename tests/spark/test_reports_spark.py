"""The merge in Spark. One session for the module; commands run in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import load_deviations
from history.schema import SCHEMA, WrongSchema
from history.shards import BOM, AnyShardLine, ExcuseCount, FaultCount, read_shard
from reports.errors import ReportError
from reports.ingest.read import parse, read_text
from reports.ingest.validate import classify
from reports.insights import TABLES
from reports.matrix import Matrix, ReportedCell, encode_matrix
from reports.matrix_file import read_insights
from reports.merge import merge
from reports.spark import spark_session
from tests.support.sample_shards import ShardBuilder, all_checks, write_lines

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PROBE = "KIP320-FETCH-02"
OTHER = "KIP320-FETCH-01"
IN_SPARK = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", small=True) as started:
        yield started


def _cases(row: str) -> list[str]:
    return [case.id for case in shipped_rows()[row].cases]


@cache
def _sample() -> dict[str, tuple[bytes, ...]]:
    """Three shards of two columns, with something of every kind: the lines by shard id."""
    checks = all_checks()
    green = (
        ShardBuilder("green", "3.9.2", checks=checks)
        .satisfy(shipped_rows()[PROBE])
        .satisfy(shipped_rows()[OTHER])
        .finish()
    )
    first = ShardBuilder("first", checks=checks).satisfy(shipped_rows()[PROBE])
    excuses = [ExcuseCount(requirement=PROBE, case=_cases(PROBE)[0], excuse="open outcome", times=3)]
    first.example(PROBE, excuses, kill=FaultCount(injected=3, witnessed=2, healed=3)).finish()
    second = ShardBuilder("second", checks=checks, worker="gw1").satisfy(shipped_rows()[OTHER])
    second.observe(
        PROBE, _cases(PROBE)[0], "violated", 2, detail="was answered NONE", evidence="evidence/x/1", history="h.zst"
    )
    second.observe(OTHER, _cases(OTHER)[0], "held", 1, inputs="{}", variant="a")
    second.observe(OTHER, _cases(OTHER)[0], "held", 1, inputs="{}", variant="b")
    second.replay(PROBE, "evidence/x/1", 2, 3).finish()
    return {builder.shard: tuple(builder.text()) for builder in (green, first, second)}


def _write(folder: Path, shards: dict[str, tuple[bytes, ...]]) -> Path:
    for name, lines in shards.items():
        write_lines(folder / f"{name}.jsonl", lines)
    return folder


def _merge(spark: SparkSession, folder: Path) -> Matrix:
    return merge(spark, str(folder), shipped_rows(), load_deviations(shipped_rows())).matrix


def _cell(matrix: Matrix, row: str, version: str = "4.3.1") -> ReportedCell:
    return next(cell for cell in matrix.cells if (cell.requirement, cell.kafka_version) == (row, version))


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return _merge(spark, _write(tmp_path_factory.mktemp("whole"), _sample()))


def test_observations_faults_checks_and_replays_are_pooled(whole: Matrix) -> None:
    probe, other = _cell(whole, PROBE), _cell(whole, OTHER)
    assert (probe.verdict, probe.violations) == ("violated", 2)
    assert probe.cases[_cases(PROBE)[0]].held == 30
    assert probe.faults == {"kill": FaultCount(injected=3, witnessed=2, healed=3)}
    assert probe.evidence == ["evidence/x/1", "h.zst"]
    assert (probe.replays.seen, probe.replays.tries) == (2, 3)
    assert [(shown.detail, shown.times) for shown in probe.shown] == [("was answered NONE", 2)]
    assert (other.verdict, other.cases[_cases(OTHER)[0]].wavering) == ("flaky", True)
    assert _cell(whole, PROBE, "3.9.2").verdict == "satisfied"
    assert not any(column.incomplete for column in whole.columns)


@settings(IN_SPARK, max_examples=5)
@given(data=st.data())
def test_order_splitting_and_repetition_change_no_byte(spark: SparkSession, whole: Matrix, data: st.DataObject) -> None:
    lines = [line for shard in _sample().values() for line in shard]
    shuffled = data.draw(st.permutations(lines))
    again = data.draw(st.lists(st.sampled_from(lines), max_size=20))
    stream = shuffled + again
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=5)))
    with tempfile.TemporaryDirectory() as folder:
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            write_lines(Path(folder, f"deep-{start}", f"piece-{start}.jsonl"), stream[start:end])
        assert encode_matrix(_merge(spark, Path(folder))) == encode_matrix(whole)


@settings(IN_SPARK, max_examples=8)
@given(shard=st.sampled_from(["first", "second", "green"]), part=st.floats(0, 1, exclude_max=True))
def test_a_shard_cut_at_any_byte_marks_its_column_and_makes_no_cell_green(
    spark: SparkSession, whole: Matrix, shard: str, part: float
) -> None:
    text = b"".join(_sample()[shard])
    cut = text[: int(part * (len(text) - 1))]
    version = "3.9.2" if shard == "green" else "4.3.1"
    with tempfile.TemporaryDirectory() as folder:
        matrix = _merge(spark, _write(Path(folder), _sample() | {shard: (cut,)}))
    _is_marked_and_no_greener(matrix, whole, version)


@pytest.mark.parametrize("length", [0, 30, 45, 300])
def test_a_shard_cut_within_its_header_is_not_forgotten(
    spark: SparkSession, whole: Matrix, tmp_path: Path, length: int
) -> None:
    cut = b"".join(_sample()["second"])[:length]
    _is_marked_and_no_greener(_merge(spark, _write(tmp_path, _sample() | {"second": (cut,)})), whole, "4.3.1")


def _is_marked_and_no_greener(matrix: Matrix, whole: Matrix, version: str) -> None:
    marked = {column.kafka_version for column in matrix.columns if column.incomplete}
    assert version in marked | (set(whole.kafka_versions) - set(matrix.kafka_versions))
    green = {(cell.requirement, cell.kafka_version) for cell in whole.cells if cell.verdict == "satisfied"}
    for cell in matrix.cells:
        if cell.verdict == "satisfied":
            assert (cell.requirement, cell.kafka_version) in green
            assert cell.kafka_version not in marked


def test_no_prefix_of_a_line_is_taken_for_a_line(spark: SparkSession) -> None:
    kinds = {line.split(b",")[0]: line.rstrip(b"\n") for shard in _sample().values() for line in shard}
    lines = [line.decode() for kind, line in kinds.items() if b"header" not in kind]
    prefixes = [line[:end] for line in lines for end in range(1, len(line) + 1)]
    found = classify(parse(spark.createDataFrame([(text,) for text in prefixes], "text string")))
    assert {row.text for row in found.where("whole").collect()} == set(lines)


def test_spark_takes_what_the_structs_take_and_refuses_what_they_refuse(spark: SparkSession) -> None:
    lines = [json.loads(line) for shard in _sample().values() for line in shard]
    samples = {line["type"]: line for line in lines}
    texts = [json.dumps(broken) for line in samples.values() for broken in _broken(line)]
    decoder = msgspec.json.Decoder(AnyShardLine)
    wanted = {text for text in texts if _accepts(decoder, text)}
    found = classify(parse(spark.createDataFrame([(text,) for text in texts], "text string")))
    assert {row.text for row in found.where("whole").collect()} == wanted
    assert 0 < len(wanted) < len(texts)


def _broken(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The line, and the line with a field left out or of another type; Spark takes anything for a text."""
    yield line
    yield line | {"type": "letter"}
    yield line | {"more": 1}
    for name in line:
        if name != "schema":
            yield {key: value for key, value in line.items() if key != name}
        if name in ("n", "seed", "events", "seconds", "examples", "seen", "tries", "column", "result", "outcome"):
            yield line | {name: "x"}


_FOOTER = b'{"type":"footer","shard":"s","n":%d,"counts":{"x":%s}}'
_ODD = {
    "Windows": _FOOTER % (1, b"1") + b" \r",
    "a mark of the byte order": BOM + _FOOTER % (2, b"1"),
    "not a number": _FOOTER.replace(b"}}", b'},"more":NaN}') % (3, b"1"),
    "single quotes": (_FOOTER % (4, b"1")).replace(b'"', b"'"),
    "two in one": _FOOTER % (5, b"1") + _FOOTER % (6, b"1"),
    "zeros of a lost block": _FOOTER % (7, b"1") + b"\0" * 9,
    "nested beyond reason": _FOOTER.replace(b"}}", b'},"more":%s}' % (b"[" * 3000 + b"]" * 3000)) % (8, b"1"),
    "no UTF-8": _FOOTER.replace(b'"x"', b'"\xff"') % (9, b"1"),
    "text for a number": _FOOTER % (10, b'"1"'),
    "a fraction": _FOOTER % (11, b"1.5"),
    "nothing": (_FOOTER % (12, b"1")).replace(b'{"x":1}', b"null"),
    "a long line": _FOOTER.replace(b"}}", b'},"more":"%s"}' % (b"x" * 2**20)) % (13, b"1"),
    "a future type": (_FOOTER % (14, b"1")).replace(b"footer", b"letter"),
    "a list": b"[" + _FOOTER % (15, b"1") + b"]",
    "more after it": _FOOTER % (16, b"1") + b" # ",
}


def test_spark_and_the_plain_reader_take_the_same_lines_for_lines(spark: SparkSession, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "odd.jsonl", [line + b"\n" for line in _ODD.values()])
    found = classify(parse(read_text(spark, str(tmp_path))))
    whole = {row.n for row in found.where("whole").collect()}
    assert whole == {line.n for line in read_shard(file).lines} == {1, 2, 13}


def test_shards_that_contradict_themselves_mark_their_columns(spark: SparkSession, tmp_path: Path) -> None:
    good = {case: _labelled(case) for case in ("fewer", "more", "early", "twins", "negative", "unnamed", "whole")}
    lines = {case: [json.loads(line) for line in text] for case, text in good.items()}
    lines["fewer"] = [line | {"n": n} for n, line in enumerate(lines["fewer"][:3] + lines["fewer"][4:])]
    lines["more"].append(lines["more"][3] | {"n": len(lines["more"])})
    lines["early"][-2:] = [line | {"n": line["n"] + 1 - 2 * place} for place, line in enumerate(lines["early"][-2:])]
    lines["twins"].append(lines["twins"][0] | {"n": len(lines["twins"])})
    lines["negative"][3]["n"] = -1
    lines["unnamed"][0]["column"]["version"] = "trunk"
    for case, found in lines.items():
        write_lines(tmp_path / f"{case}.jsonl", [json.dumps(line).encode() + b"\n" for line in found])
    matrix = _merge(spark, tmp_path)
    incomplete = {column.kafka_version: " ".join(column.incomplete) for column in matrix.columns}
    assert set(incomplete) == {"fewer", "more", "early", "negative", "whole"}
    assert incomplete.pop("whole") == ""
    assert {case: text.split(" ", 2)[2][:30] for case, text in incomplete.items()} == {
        "fewer": "has a footer that counts 30 li", "more": "goes on after its footer", "early": "goes on after its footer",
        "negative": "lacks 1 of its lines",
    }  # fmt: skip
    assert [(entry.shard, entry.reason[:20]) for entry in matrix.quarantine.shards] == [
        ("twins", "different lines carr"), ("unnamed", "its header gives 'tr"),
    ]  # fmt: skip


def _labelled(label: str) -> tuple[bytes, ...]:
    shard = ShardBuilder(label, "4.3.1", label=label, checks=all_checks())
    return tuple(shard.observe(PROBE, _cases(PROBE)[0], count=30).finish().text())


def _accepts(decoder: msgspec.json.Decoder[AnyShardLine], text: str) -> bool:
    try:
        decoder.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def test_bad_lines_are_counted_and_mark_the_column(spark: SparkSession, whole: Matrix, tmp_path: Path) -> None:
    lines = list(_sample()["second"])
    lines[4] = b"\x00\xff not a line\n"
    matrix = _merge(spark, _write(tmp_path, _sample() | {"second": (*lines, lines[4])}))
    assert matrix.quarantine.unreadable == 1
    _is_marked_and_no_greener(matrix, whole, "4.3.1")


def test_a_shard_of_another_schema_is_refused_with_its_reason(spark: SparkSession, tmp_path: Path) -> None:
    future = tuple(ShardBuilder("future", schema=SCHEMA + 1).satisfy(shipped_rows()[OTHER]).finish().text())
    matrix = _merge(spark, _write(tmp_path, _sample() | {"future": future}))
    (entry,) = matrix.quarantine.shards
    assert (entry.shard, entry.kafka_version) == ("future", "4.3.1")
    assert f"schema {SCHEMA + 1}" in entry.reason
    assert next(c for c in matrix.columns if c.kafka_version == "4.3.1").incomplete


def test_a_shard_of_an_older_schema_ends_the_merge(spark: SparkSession, tmp_path: Path) -> None:
    older = tuple(ShardBuilder("older", schema=SCHEMA - 1).satisfy(shipped_rows()[OTHER]).finish().text())
    with pytest.raises(WrongSchema, match=r"shard older is of schema 1, which .* reads; this kit reads schema 2"):
        _merge(spark, _write(tmp_path, _sample() | {"older": older}))


def test_a_piece_without_its_header_is_quarantined(spark: SparkSession, tmp_path: Path) -> None:
    headless = _sample()["green"][1:]
    matrix = _merge(spark, _write(tmp_path, _sample() | {"green": headless}))
    assert [entry.shard for entry in matrix.quarantine.shards] == ["green"]
    assert all(column.incomplete for column in matrix.columns)


def test_results_of_a_row_that_was_changed_since_do_not_count(spark: SparkSession, tmp_path: Path) -> None:
    rows = {row.id: row.hash for row in shipped_rows()} | {PROBE: "an older hash"}
    old = (
        ShardBuilder("old", checks=all_checks(), rows=rows)
        .satisfy(shipped_rows()[PROBE])
        .satisfy(shipped_rows()[OTHER])
    )
    old.finish().write(tmp_path)
    matrix = _merge(spark, tmp_path)
    assert (_cell(matrix, PROBE).verdict, _cell(matrix, PROBE).observations) == ("not-run", 0)
    assert _cell(matrix, OTHER).verdict == "satisfied"


def test_what_a_check_says_of_its_end_decides_whether_it_ran(spark: SparkSession, tmp_path: Path) -> None:
    shard = ShardBuilder("s", checks=all_checks())
    shard.end_check("KIP320-FETCH-01", "cut-off", 0).end_check("KIP320-FETCH-02", "cut-off", 1)
    shard.end_check("KIP320-FETCH-03", "done", 5).end_check("KIP320-FETCH-04", "error", 0, detail="Overdue")
    shard.finish().write(tmp_path)
    matrix = _merge(spark, tmp_path)
    verdicts = [_cell(matrix, f"KIP320-FETCH-0{number}").verdict for number in range(1, 5)]
    assert verdicts == ["not-run", "inconclusive", "inconclusive", "error"]


def test_a_label_with_two_images_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    other = tuple(ShardBuilder("other", digest="of another build").finish().text())
    with pytest.raises(ReportError, match="run on two builds"):
        _merge(spark, _write(tmp_path, _sample() | {"other": other}))


@pytest.mark.parametrize("content", [b"\n\n", b"\x1f\x8b\x08 garbage"])
def test_a_folder_with_nothing_readable_is_an_error(spark: SparkSession, tmp_path: Path, content: bytes) -> None:
    write_lines(tmp_path / "bad.jsonl", [content])
    with pytest.raises(ReportError, match="No shard can be read"):
        _merge(spark, tmp_path)


def test_a_folder_without_shards_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="holds no"):
        _merge(spark, tmp_path)
    with pytest.raises(ReportError, match="There is no folder"):
        _merge(spark, tmp_path / "missing")


def test_parquet_holds_the_same_rows_for_the_same_lines(spark: SparkSession, tmp_path: Path) -> None:
    one, many = tmp_path / "one", tmp_path / "many"
    write_lines(one / "all.jsonl", [line for shard in _sample().values() for line in shard])
    for number, line in enumerate(line for shard in reversed(_sample().values()) for line in shard):
        write_lines(many / f"{number % 7}" / f"{number}.jsonl", [line])
    for folder in (one, many):
        merge(spark, str(folder), shipped_rows(), [], parquet=folder / "parquet")
    for table in ("matrix", "tallies", "observations"):
        first, second = (spark.read.parquet(str(folder / "parquet" / table)) for folder in (one, many))
        assert first.schema == second.schema
        assert sorted(map(str, first.collect())) == sorted(map(str, second.collect()))
        assert first.count() > 0


def test_a_small_merge_takes_few_jobs_and_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """Two for tables and one for observations; each table that is joined is broadcast by one of its own."""
    folder, tracker = _write(tmp_path / "shards", _sample()), spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    merge(spark, str(folder), shipped_rows(), [], parquet=tmp_path / "parquet")
    jobs = [tracker.getJobInfo(job) for job in set(tracker.getJobIdsForGroup()) - before]
    assert len(jobs) <= 8
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert sum(stage.numTasks for stage in stages if stage) <= 40


def test_small_files_share_tasks_and_a_large_one_is_split(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(1000):
        write_lines(tmp_path / "small" / f"{number}.jsonl", [b"{}"])
    assert read_text(spark, str(tmp_path / "small")).rdd.getNumPartitions() < 100
    with write_lines(tmp_path / "large" / "s.jsonl", []).open("ab") as sparse:
        sparse.truncate(2**30)
    assert read_text(spark, str(tmp_path / "large")).rdd.getNumPartitions() >= 8


def _run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True, text=True, timeout=180, cwd=ROOT, env=os.environ | environment, check=False,
    )  # fmt: skip


def test_blanks_in_a_path_are_blanks(tmp_path: Path) -> None:
    """To Hadoop, %20 is the name of another folder."""
    shards = _write(tmp_path / "my run" / "shards", _sample())
    out, archive = tmp_path / "my run" / "matrix", tmp_path / "my runs"
    done = _run(sys.executable, "-m", "reports", "--in", shards, "--out", out, "--archive", archive)
    assert (done.returncode, done.stderr) == (0, "")
    assert list((out / "parquet" / "matrix").glob("*.parquet"))
    assert list(archive.rglob("*.parquet"))
    assert {path.name for path in tmp_path.iterdir()} == {"my run", "my runs"}


def test_the_command_ends_with_the_matrix_and_the_path_of_the_page(tmp_path: Path) -> None:
    shards = _write(tmp_path / "out" / "shards", _sample())
    out = tmp_path / "out" / "matrix"
    done = _run(sys.executable, "-m", "reports", "--in", shards, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == str(out / "index.html")
    assert "✗ violated     4.3.1  KIP320-FETCH-02" in done.stdout
    assert {"matrix.json", "insights.json", "junit.xml", "parquet"} <= {path.name for path in out.iterdir()}
    assert 'href="../../evidence/x/1"' in (out / "rows" / f"{PROBE}.html").read_text(encoding="utf-8")
    (first,) = [each for each in read_insights(out / "matrix.json").firsts if each.requirement == PROBE]
    assert (first.first_bad, first.last_good) == ("4.3.1", "3.9.2")
    (left,) = read_insights(out / "matrix.json").excused
    assert (left.requirement, left.held, left.excused) == (PROBE, 30, {"open outcome": 3})
    assert "| open outcome 3 |" in (out / "matrix.md").read_text(encoding="utf-8")
    assert {*TABLES, "matrix", "tallies", "observations", "changes"} == {
        path.name for path in (out / "parquet").iterdir()
    }
    explained = _run(
        sys.executable, "-m", "reports", "explain", PROBE, "--kafka-version", "4.3.1", "--matrix", out / "matrix.json"
    )
    assert f"{PROBE} on 4.3.1: ✗ violated" in explained.stdout


def test_spark_submit_with_the_code_as_a_zip_gives_the_same_bytes(whole: Matrix, tmp_path: Path) -> None:
    shards = _write(tmp_path / "shards", _sample())
    code = tmp_path / "kit.zip"
    assert (
        _run(sys.executable, "-m", "zipfile", "-c", code, "protocol", "history", "conformance", "reports").returncode
        == 0
    )
    submit = Path(sys.executable).with_name("spark-submit")
    command: list[str | Path] = [submit, "--master", "local[2]", "--conf", "spark.ui.enabled=false", "--py-files", code]
    script = ROOT / "reports" / "__main__.py"
    done = _run(*command, script, "--in", shards, "--out", tmp_path / "matrix", PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "matrix" / "matrix.json").read_bytes() == encode_matrix(whole)


@pytest.mark.parametrize("given", ["missing", "empty"])
def test_wrong_use_is_told_at_once_with_exit_code_2(tmp_path: Path, given: str) -> None:
    (tmp_path / "empty").mkdir()
    done = _run(sys.executable, "-m", "reports", "--in", tmp_path / given, "--out", tmp_path / "matrix")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "--in" in done.stderr


def test_without_java_it_says_what_to_install(tmp_path: Path) -> None:
    shards = _write(tmp_path / "shards", _sample())
    command: list[str | Path] = [sys.executable, "-m", "reports", "--in", shards, "--out", tmp_path / "matrix"]
    done = _run(*command, JAVA_HOME=str(tmp_path / "none"))
    assert done.returncode == 3
    assert "It needs Java 17 or newer" in done.stderr
