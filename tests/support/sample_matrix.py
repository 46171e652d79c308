"""Matrices for the tests of reports, built without Spark."""

from __future__ import annotations

from typing import Any

import msgspec

from conformance.catalogue import shipped_rows
from conformance.catalogue.deviations import Deviation
from conformance.judging.intake import Intake, ShardSummary
from conformance.judging.pooling import Attempts
from reports.ingest.intake import sort_shards
from reports.matrix import Matrix, Pooled, ReportedCell, Row, build_matrix
from tests.support.sample_shards import ShardBuilder, all_checks

ROW = "KIP320-FETCH-02"
"""A row of kind probe whose cases need nothing but Fetch."""


def intake(*versions: str, complete: bool = True, **header: Any) -> Intake:
    facts = {"checks": all_checks()} | header
    summaries = [
        ShardSummary(
            shard=f"s-{version}",
            lines=2,
            bad=0,
            numbers=2,
            first=0,
            last=1,
            footer=1 if complete else None,
            header=ShardBuilder(f"s-{version}", version, **facts).header,
        )
        for version in versions
    ]
    return sort_shards(summaries, shipped_rows())


def case(version: str, case: str, row: str = ROW, **counts: Any) -> dict[str, Any]:
    """Return a line of the table of cases, by default at a probe's floor."""
    given = {
        "held": 5,
        "violated": 0,
        "recorded": 0,
        "kept": 0,
        "changed": 10,
        "situations": 30,
        "calm": 0,
        "calm_examples": 0,
        "inputs": 3,
        "examples": 5,
        "wavering": False,
        "excused": {},
        "left_out": {},
        "outside": {},
    } | counts
    return {"kafka_version": version, "requirement": row, "case": case, **given}


def all_cases(version: str, row: str = ROW, **counts: Any) -> list[dict[str, Any]]:
    return [case(version, each.id, row, **counts) for each in shipped_rows()[row].cases]


def checks(version: str, row: str = ROW, **counts: Any) -> dict[str, Any]:
    given = {"ran": 1, "errors": 0, "trouble": None, "attempts": Attempts(), "hindrance": ""}
    return {"kafka_version": version, "requirement": row, **given, **counts}


def violation(version: str, row: str = ROW, **fields: Any) -> dict[str, Any]:
    given = {
        "case": shipped_rows()[row].cases[0].id, "label": "", "detail": "was answered NONE", "check": "c", "example": "e",
        "history": "histories/r/w.jsonl.zst", "events": [1, 2], "evidence": "evidence/x/1", "times": 1, "place": 1,
    } | fields  # fmt: skip
    return {"kafka_version": version, "requirement": row, **given}


def matrix(pooled: Pooled, *versions: str, deviations: list[Deviation] | None = None, **header: Any) -> Matrix:
    """Return the matrix of pooled tables. By default each violated case is broken in one way, by an example without
    steps or faults."""
    ways = pooled.ways or [way(line) for line in pooled.cases if line["violated"]]
    whole = msgspec.structs.replace(pooled, ways=ways)
    return build_matrix(shipped_rows(), intake(*versions, **header), whole, deviations or [])


def way(line: dict[str, Any] | Row, detail: str = "", *deeds: str) -> dict[str, Any]:
    """Return a way in which a cell is broken, in the case of this line."""
    kept = {name: line[name] for name in ("kafka_version", "requirement", "case")}
    return {**kept, "detail": detail, "deeds": [*deeds]}


def known_deviation(row: str = ROW, **fields: Any) -> Deviation:
    """Return a known deviation, by default of all cases of a row since 4.3."""
    cases = tuple(each.id for each in shipped_rows()[row].cases)
    return Deviation(**{"requirement": row, "versions": ("4.3..",), "reason": "r", "cases": cases} | fields)


def cell(found: Matrix, version: str, row: str = ROW) -> ReportedCell:
    return next(c for c in found.cells if (c.kafka_version, c.requirement) == (version, row))
