"""Pooling on one machine and in Spark: the same cells, field by field, for drawn runs of many columns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from conformance.catalogue import Requirement, shipped_rows
from conformance.judging.excuses import INAPPLICABLE
from conformance.judging.pooling import judge_shards
from conformance.judging.verdicts import Cell
from history.observations import KEEPS, KEEPS_NOT, Result
from history.shards import AttemptCount, ExcuseCount, read_shards
from reports.merge import merge
from reports.spark import spark_session
from tests.support.sample_shards import ShardBuilder, write_lines

PROBE, PROPERTY, SCENARIO, RECENT, LATER = (
    shipped_rows()[id]
    for id in ("KIP320-FETCH-02", "KIP101-INV-01", "KIP101-EPOCH-04", "KIP1251-STATIC-01b", "KIP595-END-02-L")
)
"""One row of each kind, one that old versions do not have, and one of what a later KIP promised."""
ROWS = (PROBE, PROPERTY, SCENARIO, RECENT, LATER)
COLUMNS = 12
UNKNOWN_CASE = "no-case-of-the-row"
CHECKS = ("machines.log.LogMachine", "kip101.batch_leader_epochs.plain_batch_has_the_leader_epoch")


@st.composite
def shard(draw: st.DrawFn, id: str, column: int) -> list[bytes]:
    """Lines of one worker: observations, ended checks, a row changed since, a footer or none; some lines twice."""
    version = "4.3.1" if column % 4 else "3.3.2"
    hashes = {row.id: row.hash for row in shipped_rows()}
    changed = draw(st.sets(st.sampled_from([row.id for row in ROWS]), max_size=1))
    built = ShardBuilder(
        id,
        version,
        label=f"{version}@c{column}",
        ranges={"Fetch": draw(st.sampled_from([11, 16])), "OffsetForLeaderEpoch": 4},
        rows=hashes | dict.fromkeys(changed, "an older hash"),
        checks={row.id: draw(st.lists(st.sampled_from(CHECKS), unique=True)) for row in ROWS},
    )
    for row in draw(st.lists(st.sampled_from(ROWS), max_size=6)):
        for case in [*(case.id for case in row.cases), UNKNOWN_CASE]:
            if draw(st.integers(0, 3)):
                built.observe(
                    row.id,
                    case,
                    draw(RESULT),
                    draw(st.sampled_from([1, 5, 31])),
                    **draw(RECORDED if row is LATER else OBSERVED),
                )
        if draw(st.booleans()):
            built.end_check(
                row.id,
                draw(st.sampled_from(["done", "done", "error", "cut-off"])),
                examples=draw(EXAMPLES),
                **draw(ENDED),
            )
        if draw(st.booleans()):
            built.example(row.id, draw(EXCUSES)(row))
    if draw(st.integers(0, 3)):
        built.finish()
    lines = built.text()
    return lines + draw(st.lists(st.sampled_from(lines), max_size=3))


EXAMPLES = st.sampled_from([0, 2])
RESULTS: tuple[Result, ...] = (*("held",) * 8, "violated", "recorded")
RESULT = st.sampled_from(RESULTS)
OBSERVED: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"check": st.sampled_from(CHECKS), "variant": st.sampled_from(["", "A", "B"])},
    optional={
        "inputs": st.sampled_from(['{"i":1,"offset":1}', '{"i":1,"offset":2}', '{"i":[2,"a"]}']),
        "lived": st.sampled_from([[], ["kill"], ["kill", "stop"]]),
        "calm": st.booleans(),
        "situation": st.sampled_from(["", "one", "another"]),
    },
)

ATTEMPTS = st.builds(AttemptCount, made=st.sampled_from([10, 20]), lost=st.integers(0, 12), errors=st.integers(0, 1))
ENDED: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "own_rows": st.lists(st.sampled_from([row.id for row in ROWS]), unique=True),
        "attempts": st.dictionaries(st.sampled_from(["", "consumer", UNKNOWN_CASE]), ATTEMPTS),
        "hindrance": st.sampled_from(["", "GEN-10: node-1 ended", "GEN-08: no leader"]),
        "detail": st.sampled_from(["", "an example failed"]),
    },
)
NAMES = ("open", "late", INAPPLICABLE.name)
EXCUSES: st.SearchStrategy[Callable[[Requirement], list[ExcuseCount]]] = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from([1, 40])), max_size=3
).map(
    lambda named: (
        lambda row: [
            ExcuseCount(requirement=row.id, case=row.cases[0].id, excuse=name, times=times) for name, times in named
        ]
    )
)

RECORDED: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"check": st.just("a"), "variant": st.sampled_from([KEEPS, KEEPS, KEEPS_NOT])}
)


class DrawnRun(list[list[bytes]]):
    """The lines of each shard. Its repr is short, for Hypothesis warns of long ones."""

    def __repr__(self) -> str:
        return f"DrawnRun of {len(self)} shards, {sum(map(len, self))} lines"


@st.composite
def run(draw: st.DrawFn) -> DrawnRun:
    """Up to three shards for each of many columns, so that one merge compares them all."""
    shards = [(column, number) for column in range(COLUMNS) for number in range(draw(st.integers(1, 3)))]
    return DrawnRun(draw(shard(f"s{column}-{number}", column)) for column, number in shards)


def _written(folder: Path, shards: Sequence[list[bytes]]) -> Path:
    for number, lines in enumerate(shards):
        write_lines(folder / f"{number}.jsonl", lines)
    return folder


@pytest.mark.spark
@settings(
    deadline=None, max_examples=2, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(shards=run())
def test_spark_pools_as_one_process_does(shards: DrawnRun) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = _written(Path(name), shards)
        with spark_session("local[2]", small=True) as spark:
            merged = merge(spark, name, shipped_rows(), []).matrix.cells
        plain = judge_shards(read_shards(folder))
    pooled = [Cell(**{field: getattr(cell, field) for field in Cell.__struct_fields__}) for cell in merged]
    assert len(pooled) == len(plain)
    assert [pair for pair in zip(pooled, plain, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.drawn
def test_drawn_runs_reach_every_verdict_but_untested_ones_alike() -> None:
    """The comparison is not vacuous: the drawn cells have every verdict that observations can give."""
    seen: set[str] = set()

    @settings(deadline=None, max_examples=150, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(shards=run())
    def look(shards: DrawnRun) -> None:
        with tempfile.TemporaryDirectory() as name:
            cells = judge_shards(read_shards(_written(Path(name), shards)))
            seen.update(cell.value or cell.verdict for cell in cells)

    look()
    assert seen >= {
        "violated",
        "flaky",
        "error",
        "inconclusive",
        "satisfied",
        "not-run",
        "inapplicable",
        KEEPS,
        KEEPS_NOT,
    }
