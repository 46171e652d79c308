"""The output directory of a run, as workers leave it: histories that can be judged again, and shards that agree with
them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from benchmarks.histories import history
from conformance.cli import rejudge
from conformance.running.recording.shard_writer import ShardWriter
from history.events import End, History
from history.schema import SCHEMA
from history.shards import Column
from history.store import HistoryWriter
from tests.support.sample_shards import RANGES

MACHINE = "machines.log.LogMachine"
COLUMNS = [
    Column(label=v, version=v, image=v, image_id=v, selection=["--kafka-version", v], ranges=RANGES)
    for v in ("3.9.2", "4.3.1")
]
RUN = "260101-000000-abcd"
EXAMPLES = 17


def write_run(out: Path) -> Path:
    """Write the output of one worker with most examples, on two columns, of small ones, and of one killed within an
    example."""
    _worker(out, "gw0", [_example(f"gw0-{n}", COLUMNS[n % 2], n) for n in range(12)])
    for small in range(1, 4):
        _worker(out, f"gw{small}", [_example(f"gw{small}-0", COLUMNS[small % 2], 100 + small)])
    open_at_its_end = _example("gw4-1", COLUMNS[0], 105)
    open_at_its_end.end = None
    _worker(out, "gw4", [_example("gw4-0", COLUMNS[0], 104), open_at_its_end])
    return out


def _example(name: str, column: Column, seed: int) -> History:
    made = history(name, 150, seed)
    made.example = msgspec.structs.replace(made.example, check=MACHINE, column=column.label)
    made.end = End(example=name, outcome="judged")
    return made


def _worker(out: Path, worker: str, examples: list[History]) -> None:
    """Write the histories of one worker, and for each column a shard with the judges' observations."""
    with HistoryWriter(out / "histories" / RUN / f"{worker}.jsonl.zst") as writer:
        for one in examples:
            for line in (one.example, *one.events, *([one.end] if one.end else [])):
                writer.write(line)
    for column in COLUMNS:
        shard = ShardWriter(
            out / "shards", f"{worker}-{column.label}", column, schema=SCHEMA, kit="0", run=RUN, worker=worker,
            topology="t", profile="quick", seed=1, rows={}, checks={},
        )  # fmt: skip
        for one in examples:
            for observation in rejudge.rejudge(one, column).observations if one.example.column == column.label else ():
                shard.observation(observation, check=MACHINE)
        shard.close()
