"""Judge stored histories again, without a cluster: `python -m conformance.rejudge DIR`.

Writes DIR/rejudged/<shard>.jsonl, observation lines only, and compares them with what the shards hold. The exit code is 0
when they are the same, 1 when a judge now says something else, 2 for wrong use.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from conformance.bench import Bench
from conformance.catalogue import Facts
from conformance.checks import Check, all_checks
from conformance.evaluate import applicable, evaluate
from conformance.machines import all_machines
from fixtures.tape import StoredTape
from history.events import History
from history.observations import Observation
from history.shards import Column, ObservationLine, Shard, read_shards
from history.store import read_histories


def rejudge(history: History, column: Column) -> list[Observation]:
    """What today's judges say about a stored example.

    A probe that lost its premise says nothing, but judges of its history may; what an example had proved before it ended in
    trouble stays proved.
    """
    check = history.example.check
    if history.end is None:
        return []
    if check in all_machines():
        facts = Facts(version=column.version, ranges=column.ranges)
        return applicable(all_machines()[check].judge(history), facts)
    if check in all_checks():
        return _again(all_checks()[check], history, column)
    return []


def _again(check: Check, history: History, column: Column) -> list[Observation]:
    example = history.example
    bench = Bench(StoredTape(history), column, Bench.members_of(example.members), None)
    return evaluate(check, bench, check.drawn(example.inputs), example.context).observations


def canonical_lines(observations: list[Observation]) -> bytes:
    return b"".join(msgspec.json.encode(o, order="sorted") + b"\n" for o in observations)


def observed(shard: Shard) -> dict[str, list[Observation]]:
    """The observations of a shard by example, as the judges said them."""
    fields = [field.name for field in msgspec.structs.fields(Observation)]
    found: dict[str, list[Observation]] = {}
    for line in shard.lines:
        if isinstance(line, ObservationLine):
            said = Observation(**{name: getattr(line, name) for name in fields})
            found.setdefault(line.example, []).append(said)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.rejudge", description=__doc__)
    parser.add_argument("dir", type=Path, help="the output directory of a run, with shards/ and histories/")
    out: Path = parser.parse_args(arguments).dir
    if not (out / "shards").is_dir():
        print(f"{out} has no shards/: give the directory that was --conformance-out", file=sys.stderr)
        return 2
    changed = [line for shard in read_shards(out / "shards") for line in _compare(out, shard)]
    print("\n".join(changed) or "the same observations, byte for byte")
    return 1 if changed else 0


def _compare(out: Path, shard: Shard) -> Iterator[str]:
    if shard.header is None:
        yield f"{shard.path}: no header, so its column is unknown"
        return
    before = observed(shard)
    path = out / "histories" / shard.header.run / f"{shard.header.worker}.jsonl.zst"
    target = out / "rejudged" / Path(shard.path).name
    target.parent.mkdir(exist_ok=True)
    with target.open("wb") as file:
        for history in read_histories(path) if path.exists() else ():
            if history.example.column != shard.header.column.label:
                continue
            after = canonical_lines(rejudge(history, shard.header.column))
            file.write(after)
            if after != canonical_lines(before.pop(history.example.example, [])):
                yield f"{history.example.example} ({history.example.check}): judged differently now"
    for example in before:
        yield f"{example}: its observations have no history"


if __name__ == "__main__":
    sys.exit(main())
