"""A generated output directory of a long run: histories of many workers, one of which has 30 % of all events.

A few examples (`benchmarks.histories`) are repeated under different names. Each is judged once, as by `./kit rejudge`,
and the shards hold these observations, so that judging again changes nothing.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.histories import history
from benchmarks.processes import watch_run
from benchmarks.shards import MACHINE, RUN, SKEWED, shard_header
from fixtures.images import newest_version
from history.events import End, History
from history.shards import Footer, ObservationLine, encode_line
from history.store import HistoryWriter

EXAMPLE = 3000
"""The number of events in an example, as in those of the log machine."""
FEW = 20
WORKERS = 12

_Observations = dict[str, list[dict[str, Any]]]


def write_run(out: Path, events: int) -> int:
    """Write about that many events; return their exact number."""
    few = [_rename_example(history(str(number), EXAMPLE, number), str(number)) for number in range(FEW)]
    observations = _judge_each(out.with_name(f"{out.name}-few"), few)
    counts = [int(events * SKEWED)] + WORKERS * [int(events * (1 - SKEWED) / WORKERS)]
    return sum(_write_worker(out, f"gw{number}", count, few, observations) for number, count in enumerate(counts))


def _rename_example(example: History, name: str) -> History:
    opened = msgspec.structs.replace(example.example, example=name, check=MACHINE, column=newest_version())
    return History(example=opened, events=example.events, end=End(example=name, outcome="judged"))


def _judge_each(out: Path, few: Sequence[History]) -> _Observations:
    """Return the judges' observations of each of the few examples, by its name."""
    _write_shard(out, "gw0", few, {})
    watch_run(sys.executable, "-m", "conformance.cli.rejudge", "--out", out)
    found: _Observations = defaultdict(list)
    for line in (out / "rejudged" / "gw0.jsonl").read_bytes().splitlines():
        observation = msgspec.json.decode(line)
        found[observation["example"]].append(observation)
    if len(found) < len(few):
        raise ValueError(
            f"judges say something about {len(found)} of {len(few)} examples only: is {MACHINE} still there?"
        )
    return found


def _write_worker(out: Path, worker: str, events: int, few: Sequence[History], observations: _Observations) -> int:
    average = sum(len(one.events) for one in few) / len(few)
    return _write_shard(out, worker, _repeated_examples(worker, few, max(1, round(events / average))), observations)


def _repeated_examples(worker: str, few: Sequence[History], count: int) -> Iterator[History]:
    for number in range(count):
        example = few[number % len(few)]
        yield _rename_example(example, f"{worker}-{number}")


def _write_shard(
    out: Path, worker: str, examples: Sequence[History] | Iterator[History], observations: _Observations
) -> int:
    (out / "shards").mkdir(parents=True, exist_ok=True)
    events, n = 0, 1
    with (
        HistoryWriter(out / "histories" / RUN / f"{worker}.jsonl.zst") as histories,
        (out / "shards" / f"{worker}.jsonl").open("wb") as shard,
    ):
        shard.write(encode_line(shard_header(worker, worker, newest_version(), {})))
        for number, one in enumerate(examples):
            for line in (one.example, *one.events, *([one.end] if one.end else [])):
                histories.write(line)
            events += len(one.events)
            for observation in observations.get(str(number % FEW), []):
                fields = observation | {"example": one.example.example}
                shard.write(encode_line(ObservationLine(shard=worker, n=n, check=MACHINE, **fields)))
                n += 1
        shard.write(encode_line(Footer(shard=worker, n=n, counts={"header": 1, "observation": n - 1})))
    return events
