"""Shards that were shuffled, split, repeated, mixed and cut: the verdicts stay as they were, or nothing is satisfied.

The plain judge looks at many such folders; Spark at some, each a column of one merge, and says the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from conformance.catalogue import shipped_rows
from conformance.judging.pooling import judge_shards
from history.shards import AnyShardLine, read_shards
from reports.merge import merge
from reports.spark import spark_session
from tests.support.sample_shards import ShardBuilder, write_lines

KEPT, BROKEN = "KIP320-FETCH-02", "KIP320-FETCH-01"
CHECKS = {row: [f"check-{row}"] for row in (KEPT, BROKEN)}
ROWS = {row: shipped_rows()[row].hash for row in CHECKS}
Verdicts = dict[tuple[str, str], str]
Files = list[bytes]

one_line = msgspec.json.Decoder(AnyShardLine)


def _shards(label: str) -> list[list[bytes]]:
    """Two shards of one column: one satisfies two rows, the other breaks one of them."""
    facts = {"label": label, "checks": CHECKS, "rows": ROWS, "image_id": "sha256:a"}
    both = ShardBuilder(f"{label}-a", "4.3.1", **facts)
    for row in CHECKS:
        for case in shipped_rows()[row].cases:
            both.observe(row, case.id, count=5)
        both.end_check(row)
    other = ShardBuilder(f"{label}-b", "4.3.1", worker="gw1", **facts)
    other.observe(BROKEN, shipped_rows()[BROKEN].cases[0].id, "violated", 1, detail="was answered NONE")
    return [both.finish().text(), other.finish().text()]


@st.composite
def damaged(draw: st.DrawFn, label: str = "c") -> Files:
    """The lines of the two shards in other files: mixed or not, in any order, some twice; some files cut at any byte."""
    shards = _shards(label)
    lines = [line for shard in shards for line in shard]
    if draw(st.booleans()):
        lines = draw(st.permutations(lines))
        lines = lines + draw(st.lists(st.sampled_from(lines), max_size=10))
        cuts = sorted(draw(st.sets(st.integers(1, len(lines) - 1), max_size=4)))
        files = [b"".join(lines[start:end]) for start, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    else:
        files = [b"".join(shard) for shard in shards] * draw(st.integers(1, 2))
    for place in draw(st.sets(st.integers(0, len(files) - 1), max_size=2)):
        end = draw(st.integers(0, len(files[place])))
        files[place] = files[place][:end] if draw(st.booleans()) else files[place][end:]
    return files


@st.composite
def torn(draw: st.DrawFn, label: str) -> Files:
    """Each shard torn within a line that still tells whose it was; what followed is lost, or in another file."""
    files = []
    for shard in _shards(label):
        place = draw(st.integers(1, len(shard)))
        ends = [line[: draw(st.integers(50, len(line)))] for line in shard[place : place + 1]]
        files.append(b"".join([*shard[:place], *ends]))
        kept = draw(st.booleans())
        files += [b"".join(shard[place + 1 :])] if kept and shard[place + 1 :] else []
    return files


def _write(folder: str, variants: Sequence[Files]) -> Path:
    for number, files in enumerate(variants):
        for place, text in enumerate(files):
            write_lines(Path(folder, f"{number}", f"{place}.jsonl"), [text])
    return Path(folder)


def _plain(folder: Path) -> Verdicts:
    return {(cell.kafka_version, cell.requirement): cell.verdict for cell in judge_shards(read_shards(folder))}


@cache
def _whole() -> dict[str, str]:
    """The verdicts of an undamaged column, by row."""
    with tempfile.TemporaryDirectory() as folder:
        found = _plain(_write(folder, [[line for shard in _shards("c") for line in shard]]))
    return {row: verdict for (_, row), verdict in found.items()}


def _readable(files: Files) -> set[bytes]:
    """The lines that can still be read, as they were written."""
    lines = {line for file in files for line in file.splitlines()}
    return {line for line in lines if _is_line(line)}


def _is_line(text: bytes) -> bool:
    try:
        one_line.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _check(label: str, files: Files, found: Verdicts) -> None:
    """Nothing is satisfied where a line was lost; where none was, all is as before or, beside torn lines, less."""
    lost = {line.rstrip(b"\n") for shard in _shards(label) for line in shard} - _readable(files)
    torn = b"" in files or any(not _is_line(line) for file in files for line in file.splitlines())
    mine = {row: verdict for (column, row), verdict in found.items() if column == label}
    if lost:
        assert "satisfied" not in mine.values()
    elif torn:
        changed = {row for row in mine if mine[row] != _whole()[row]}
        assert all((_whole()[row], mine[row]) == ("satisfied", "inconclusive") for row in changed)
        assert mine[BROKEN] == "violated"
    else:
        assert mine == _whole()


def test_the_sample_has_something_to_lose() -> None:
    assert (_whole()[KEPT], _whole()[BROKEN]) == ("satisfied", "violated")


@settings(deadline=None, max_examples=150)
@given(files=damaged())
def test_the_plain_judge_calls_nothing_satisfied_where_a_line_was_lost(files: Files) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = _plain(_write(folder, [files]))
    _check("c", files, found)


LABELS = [f"c{number}" for number in range(16)]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", small=True) as started:
        yield started


def _tells_whose(files: Files, label: str) -> bool:
    """Are all shards told by their headers, and all that is torn by its beginning? Else every column would be marked."""
    with tempfile.TemporaryDirectory() as folder:
        pieces = list(read_shards(_write(folder, [files])))
    headed = {piece.header.shard for piece in pieces if piece.header}
    every = {line.shard for piece in pieces for line in piece.lines} | {id for piece in pieces for id in piece.torn_of}
    return every <= headed and bool(headed)


@pytest.mark.spark
@settings(
    deadline=None, max_examples=2, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.large_base_example],
)  # fmt: skip
@given(variants=st.tuples(*(torn(label) if number % 2 else damaged(label) for number, label in enumerate(LABELS))))
def test_spark_says_the_same_of_many_columns_at_once(spark: SparkSession, variants: tuple[Files, ...]) -> None:
    chosen = [files for files, label in zip(variants, LABELS, strict=True) if _tells_whose(files, label)]
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, chosen)
        matrix = merge(spark, folder, shipped_rows(), []).matrix
        found = {(cell.kafka_version, cell.requirement): str(cell.verdict) for cell in matrix.cells}
        assert found == _plain(Path(folder))
    for label in matrix.kafka_versions:
        _check(label, variants[LABELS.index(label)], found)
