"""Writing a shard. Each line is flushed, so that no observation is lost if the worker is killed."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from history import shards
from history.observations import Observation


class ShardWriter:
    """The shard of one worker and column, to which lines are appended: `shards/<shard>.jsonl`."""

    def __init__(self, folder: Path, shard: str, column: shards.Column, **header: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.shard = shard
        self.column = column
        self._file = (folder / f"{shard}.jsonl").open("ab")
        self._next = 0
        self._counts: Counter[str] = Counter()
        self._write(shards.Header(**self._base(), column=column, **header), "header")

    def observation(self, seen: Observation, **place: Any) -> None:
        """Write an observation's line. `place` has the fields that the observation lacks."""
        self._write(shards.ObservationLine.of(seen, **self._base(), **place), "observation")

    def example(self, **fields: Any) -> None:
        self._write(shards.ExampleLine(**self._base(), **fields), "example")

    def check(self, **fields: Any) -> None:
        self._write(shards.CheckLine(**self._base(), **fields), "check")

    def replay(self, **fields: Any) -> None:
        self._write(shards.ReplayLine(**self._base(), **fields), "replay")

    def close(self, spent: Mapping[str, float] | None = None, ended_early: str = "") -> None:
        """Write the last line. `spent` has the worker's seconds on this column, by kind of work."""
        seconds = {part: round(count, 1) for part, count in sorted((spent or {}).items())}
        counts = dict(sorted(self._counts.items()))
        self._write(shards.Footer(**self._base(), counts=counts, spent=seconds, ended_early=ended_early), "footer")
        self._file.close()

    def _base(self) -> dict[str, Any]:
        return {"shard": self.shard, "n": self._next}

    def _write(self, line: shards.AnyShardLine, kind: str) -> None:
        self._file.write(shards.encode_line(line))
        self._file.flush()
        self._next += 1
        self._counts[kind] += 1
