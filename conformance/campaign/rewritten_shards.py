"""A run's shards as the current judges would have written them; they are merged like any others."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import msgspec

from conformance.catalogue import shipped_rows
from conformance.core.registry import checks_by_row
from conformance.judging.pooling import GatheredShard
from conformance.judging.stored_examples import JudgedExample
from history.observations import Observation
from history.shards import AnyShardLine, ExampleLine, Footer, Header, ObservationLine, encode_line

ByExample: TypeAlias = Mapping[str, JudgedExample]
"""The current judges' results on each example whose history could be judged."""
Line = TypeVar("Line", bound=AnyShardLine)


def rewrite_shard(shard: GatheredShard, again: ByExample, *, whole: bool) -> bytes:
    """Rewrite a shard's lines (which include a header) with the current rows, and with `again` instead of its
    observations.

    An example missing in `again` keeps its old observations, and their rows keep their old hashes, so that a changed
    row does not count as judged. A shard that was not `whole` gets no footer, which marks its column as incomplete.
    """
    return _Rewriting(shard, again, whole).content()


class _Rewriting:
    def __init__(self, shard: GatheredShard, again: ByExample, whole: bool) -> None:
        assert shard.header is not None
        self.header = shard.header
        self.again = again
        self.whole = whole and not shard.summary.refusal and not shard.summary.missing_part
        self.lines = sorted(shard.lines, key=lambda line: line.n)
        observed = [line for line in self.lines if isinstance(line, ObservationLine)]
        self.replaced: set[str] = set()
        self.kept = {line.requirement for line in observed if line.example not in again}
        self.evidence = {(o.example, o.requirement, o.case): o.evidence for o in observed if o.evidence}

    def content(self) -> bytes:
        lines = [new for line in self.lines for new in self._lines_for(line)]
        lines += [self._footer(lines)] if self.whole else []
        return b"".join(encode_line(_with_changes(line, n=n)) for n, line in enumerate(lines))

    def _lines_for(self, line: AnyShardLine) -> Iterator[AnyShardLine]:
        if isinstance(line, Header):
            yield _with_changes(line, rows=self._rows(), checks=checks_by_row())
        elif isinstance(line, ObservationLine | ExampleLine) and line.example in self.again:
            yield from self._current_observations(line)
        elif not isinstance(line, Footer):
            yield line

    def _current_observations(self, line: ObservationLine | ExampleLine) -> Iterator[AnyShardLine]:
        """Yield the current judges' observations, all at the first line of an example, since its own line may be cut
        off."""
        found = self.again[line.example]
        if line.example not in self.replaced:
            self.replaced.add(line.example)
            deeds = found.deeds or [[]] * len(found.observations)
            yield from map(partial(self._line_of, line), found.observations, deeds)
        if isinstance(line, ExampleLine):
            yield _with_changes(
                line, rows=sorted({one.requirement for one in found.observations}), excuses=found.excuses
            )

    def _rows(self) -> dict[str, str]:
        today = {row.id: row.hash for row in shipped_rows()}
        return today | {row: was for row, was in self.header.rows.items() if row in self.kept}

    def _line_of(self, example: ObservationLine | ExampleLine, one: Observation, deeds: list[str]) -> ObservationLine:
        """Return the line of an observation, with the evidence folder of the same finding, if it has one."""
        return ObservationLine.of(
            one,
            shard=self.header.shard,
            n=0,
            check=example.check,
            history=f"histories/{self.header.run}/{self.header.worker}.jsonl.zst",
            evidence=self.evidence.get((one.example, one.requirement, one.case), ""),
            deeds=deeds,
        )

    def _footer(self, lines: Sequence[AnyShardLine]) -> Footer:
        counts = Counter(str(line.__struct_config__.tag) for line in lines)
        return Footer(shard=self.header.shard, n=0, counts=dict(sorted(counts.items())))


def _with_changes(line: Line, **changes: object) -> Line:
    return msgspec.structs.replace(line, **changes)
