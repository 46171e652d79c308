"""Sample shards, built line by line as a worker would write them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from conformance.catalogue import Requirement, shipped_rows
from history.observations import Result
from history.schema import SCHEMA
from history.shards import (
    AnyShardLine,
    CheckLine,
    Column,
    ExampleLine,
    ExcuseCount,
    FaultCount,
    Footer,
    Header,
    ObservationLine,
    ReplayLine,
    encode_line,
)

RANGES = {"Fetch": 17, "InitProducerId": 5, "ListOffsets": 10, "OffsetForLeaderEpoch": 4, "transaction.version": 2}


class ShardBuilder:
    """A builder of one shard, whose methods add a line each."""

    def __init__(self, shard: str, version: str = "4.3.1", **header: Any) -> None:
        self.shard = shard
        self.lines: list[AnyShardLine] = []
        label = header.pop("label", version)
        column = Column(
            label=label, version=version, image=f"kafka:{label}", image_id=header.pop("image_id", f"sha256:{label}"),
            ranges=header.pop("ranges", RANGES), digest=header.pop("digest", f"digest of {label}"),
            selection=header.pop("selection", selecting(label)),
        )  # fmt: skip
        rows = header.pop("rows", {row.id: row.hash for row in shipped_rows()})
        facts: dict[str, Any] = {
            "schema": SCHEMA, "kit": "0.1.0", "run": "r1", "worker": "gw0", "topology": "one-combined", "profile": "smoke",
            "seed": 7, "checks": {},
        }  # fmt: skip
        self._add(Header, column=column, rows=rows, **(facts | header))

    @property
    def header(self) -> Header:
        first = self.lines[0]
        assert isinstance(first, Header)
        return first

    def _add(self, kind: type[AnyShardLine], **fields: Any) -> None:
        self.lines.append(kind(shard=self.shard, n=len(self.lines), **fields))

    def observe(self, row: str, case: str, result: Result = "held", count: int = 5, **fields: Any) -> ShardBuilder:
        """Add `count` observations with as many distinct inputs and examples."""
        for number in range(count):
            given = {
                "check": f"check-{row}",
                "example": f"{row}/{case}/{number}",
                "inputs": f'{{"i":{number}}}',
            } | fields
            self._add(ObservationLine, requirement=row, case=case, result=result, **given)
        return self

    def satisfy(self, row: Requirement) -> ShardBuilder:
        """Add enough observations for every case of a row."""
        for case in row.cases:
            self.observe(row.id, case.id, count=30, lived=["kill"])
        return self.end_check(row.id)

    def example(self, row: str, excuses: Iterable[ExcuseCount] = (), **faults: FaultCount) -> ShardBuilder:
        brought = {"excuses": [*excuses], "faults": faults}
        self._add(ExampleLine, example=f"{row}/x", check=f"check-{row}", outcome="judged", rows=[row], **brought)
        return self

    def end_check(
        self, row: str, outcome: Literal["done", "error", "cut-off"] = "done", examples: int = 5, **fields: Any
    ) -> ShardBuilder:
        self._add(CheckLine, check=f"check-{row}", rows=[row], outcome=outcome, examples=examples, **fields)
        return self

    def replay(self, row: str, evidence: str, seen: int, tries: int) -> ShardBuilder:
        self._add(ReplayLine, requirement=row, evidence=evidence, seen=seen, tries=tries)
        return self

    def replayed(self, row: str, case: str, *, seen: int, tries: int = 5) -> ShardBuilder:
        """Add the examples of a schedule's replays, of which the first `seen` violated the case."""
        for number in range(tries):
            example, check = f"{row}/again/{number}", f"check-{row}"
            if number < seen:
                self._add(ObservationLine, requirement=row, case=case, result="violated", check=check, example=example)
            self._add(ExampleLine, example=example, check=check, outcome="judged", rows=[row])
        return self

    def finish(self) -> ShardBuilder:
        self._add(Footer, counts={"observation": sum(isinstance(line, ObservationLine) for line in self.lines)})
        return self

    def text(self) -> list[bytes]:
        return [encode_line(line) for line in self.lines]

    def write(self, folder: Path) -> Path:
        return write_lines(folder / f"{self.shard}.jsonl", self.text())


def write_lines(path: Path, lines: Iterable[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def all_checks() -> dict[str, list[str]]:
    """Return a header's `checks` of a kit with one check for each row."""
    return {row.id: [f"check-{row.id}"] for row in shipped_rows()}


def selecting(label: str) -> list[str]:
    """Return the options of a sample column: the image that its label names, or its version."""
    return ["--kafka-image", f"kafka:{label}"] if "@" in label else ["--kafka-version", label]
