"""Generated shards like those of runs with many workers: a column for each minor version, and one shard with 30 % of
all.

As in real shards, a few examples are those of machines, with hundreds of observations that differ only in their events;
most are those of probes, with a handful of observations of drawn inputs and answers. An example has 120 observations on
average, an observation 360 bytes.
"""

import random
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fixtures.images import newest_patches
from history.observations import Result
from history.schema import SCHEMA
from history.shards import (
    AnyShardLine,
    CheckLine,
    Column,
    ExampleLine,
    FaultCount,
    Footer,
    Header,
    ObservationLine,
    PremiseCount,
    encode_line,
)

RUN = "260101-000000-beef"
RANGES = {"Fetch": 17, "InitProducerId": 5, "ListOffsets": 10, "OffsetForLeaderEpoch": 4, "transaction.version": 2}
SKEWED = 0.3
"""The fraction of all observations in one shard."""
WORKERS = 6
"""The number of shards of a column."""
MACHINES = 0.25
"""The fraction of examples that come from a machine."""
MACHINE = "machines.log.LogMachine"

_CATALOGUES = Path(__file__).parent.parent / "conformance" / "catalogue"


def write_shards(
    folder: Path,
    observations: int,
    seed: int = 1,
    *,
    versions: Sequence[str] = (),
    workers: int = WORKERS,
    skewed: float = SKEWED,
) -> int:
    """Write about that many observations below `folder`; return their size in bytes.

    `versions` default to the newest patch of each minor; `skewed` is the fraction in the first shard.
    """
    folder.mkdir(parents=True)
    cases, versions = _cases_by_row(), versions or newest_patches()
    rest = int(observations * (1 - skewed) / (len(versions) * workers))
    for place, version in enumerate(versions):
        for worker in range(workers):
            is_skewed = skewed and (place, worker) == (0, 0)
            shard = _Shard(
                f"{RUN}-gw{worker}-{version}", f"gw{worker}", version, cases, random.Random(f"{seed} {place} {worker}")
            )
            with (folder / f"{shard.name}.jsonl").open("wb") as file:
                file.writelines(map(encode_line, shard.lines(int(observations * skewed) if is_skewed else rest)))
    return sum(path.stat().st_size for path in folder.iterdir())


def shard_header(shard: str, worker: str, version: str, checks: dict[str, list[str]]) -> Header:
    """Return a header without hashes of rows, so that no row counts as changed."""
    column = Column(
        label=version,
        version=version,
        image=version,
        image_id=f"sha256:{version}",
        selection=["--kafka-version", version],
        ranges=RANGES,
    )
    return Header(
        shard=shard, n=0, schema=SCHEMA, kit="0.1.0", run=RUN, worker=worker, column=column, topology="one", profile="quick",
        seed=1, rows={}, checks=checks,
    )  # fmt: skip


def _cases_by_row() -> dict[str, list[str]]:
    """Return the cases of each row of the catalogue."""
    rows = [
        row for path in sorted(_CATALOGUES.glob("kip*.toml")) for row in tomllib.loads(path.read_text())["requirement"]
    ]
    return {row["id"]: [case["id"] for case in row.get("cases", [])] or ["always"] for row in rows}


class _Shard:
    def __init__(self, name: str, worker: str, version: str, cases: dict[str, list[str]], drawn: random.Random) -> None:
        self.name = name
        self._worker = worker
        self._version = version
        self._cases = [(row, case) for row, found in cases.items() for case in found]
        self._rows = list(cases)
        self._drawn = drawn
        self._counts: Counter[str] = Counter()

    def lines(self, observations: int) -> Iterator[AnyShardLine]:
        checks = {row: [f"check.{row}"] for row in self._rows}
        yield self._count("header", shard_header(self.name, self._worker, self._version, checks))
        number = 0
        while self._counts["observation"] < observations:
            number += 1
            name = f"{RUN}-{self._worker}-{number}"
            yield from self._machine(name) if self._drawn.random() < MACHINES else self._probe(name)
        for row in self._rows:
            ended = CheckLine(**self._base(), check=f"check.{row}", rows=[row], outcome="done", examples=5, seconds=1.5)
            yield self._count("check", ended)
        yield Footer(**self._base(), counts=dict(self._counts))

    def _machine(self, name: str) -> Iterator[AnyShardLine]:
        """Yield an example of a machine: twenty cases, each seen often."""
        seen = self._drawn.sample(self._cases, 20)
        for row, case in seen:
            for _ in range(self._drawn.randint(2, 44)):
                events = sorted(self._drawn.sample(range(2000), 2))
                yield self._observation(name, row, case, "held", MACHINE, events=events)
        yield self._example(name, MACHINE, [row for row, _ in seen], 30.0)

    def _probe(self, name: str) -> Iterator[AnyShardLine]:
        row, case = self._drawn.choice(self._cases)
        inputs = f'{{"epochs_back":{self._drawn.randint(1, 20)},"as_replica":"consumer"}}'
        for _ in range(4):
            result: Result = "violated" if self._drawn.random() < 0.0001 else "held"
            detail = (
                f"FetchedPartition(version=12, topic='t', partition=0, high_watermark={self._drawn.randint(0, 9999)})"
            )
            yield self._observation(name, row, case, result, f"check.{row}", events=[9], inputs=inputs, detail=detail)
        yield self._example(name, f"check.{row}", [row], 0.8)

    def _observation(self, name: str, row: str, case: str, result: Result, check: str, **more: Any) -> AnyShardLine:
        history = f"histories/{RUN}/{self._worker}.jsonl.zst"
        line = ObservationLine(
            **self._base(),
            requirement=row,
            case=case,
            result=result,
            check=check,
            example=name,
            history=history,
            **more,
        )
        return self._count("observation", line)

    def _example(self, name: str, check: str, rows: list[str], seconds: float) -> AnyShardLine:
        line = ExampleLine(
            **self._base(), example=name, check=check, outcome="judged", rows=rows, seconds=seconds,
            faults={"kill": FaultCount(injected=1, witnessed=1, healed=1)}, premises={"a leader": PremiseCount(met=1)},
        )  # fmt: skip
        return self._count("example", line)

    def _base(self) -> dict[str, Any]:
        return {"shard": self.name, "n": self._counts.total()}

    def _count(self, kind: str, line: AnyShardLine) -> AnyShardLine:
        self._counts[kind] += 1
        return line
