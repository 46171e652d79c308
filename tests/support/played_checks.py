"""Examples of probes on a fake cluster, run live and again on their recorded histories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from conformance.core.bench import Bench
from conformance.core.checks import Check, Claims, Rig, held_if, premise
from conformance.core.cluster import LiveCluster
from conformance.core.evaluate import ExampleOutcome, evaluate_check
from fixtures.tape import LiveTape, StoredTape
from history.events import End, Example, History
from history.observations import Observation
from history.shards import Column
from history.store import HistoryWriter, read_histories
from tests.support.declared import facts_of
from tests.support.fake_cluster import TOPOLOGY, FakeCluster

ROW, OTHER = "KIP320-FETCH-02", "KIP320-FETCH-01"
COLUMN = Column(label="4.3.1", version="4.3.1", image="kafka", image_id="sha256:1", ranges=facts_of("4.3.1").ranges)
FACTS = facts_of("4.3.1")


class LogData(msgspec.Struct, frozen=True):
    topic: str
    start: int


class Log:
    """The handle of the probes below."""

    def __init__(self, bench: Bench, data: LogData) -> None:
        self.bench = bench
        self.data = data

    def end(self) -> Any:
        return self.bench.node("broker-1").list_offsets(self.data.topic, 0)


def prepared(bench: Bench) -> LogData:
    topic = bench.fresh_name("topic")
    return LogData(topic, bench.node("broker-1").list_offsets(topic, 0).offset)


FRESH: Rig[LogData, Log] = Rig(TOPOLOGY, prepared, Log)
SHARED: Rig[LogData, Log] = Rig(TOPOLOGY, prepared, Log, shared=True)


def check_of(body: Any, rig: Rig[LogData, Log] = FRESH, *, rows: tuple[str, ...] = (ROW,), **strategies: Any) -> Check:
    return Check(own_rows=rows, rig=rig, cases=("consumer",), strategies=strategies, body=body)


class Play:
    """A run of checks' examples on a fake cluster, and again on their recorded histories."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.writer = HistoryWriter(out / "histories" / "r1" / "gw0.jsonl.zst")
        self.histories: list[History] = []

    def live(
        self, check: Check, cluster: FakeCluster, *, context: dict[str, Any] | None = None, **inputs: Any
    ) -> tuple[ExampleOutcome, History]:
        example = Example(
            example=f"e-{len(self.histories)}",
            check=check.id,
            column=COLUMN.label,
            case="consumer",
            inputs=msgspec.to_builtins(inputs),
            context=context or {},
            members=msgspec.to_builtins(cluster.members()),
            ranges=COLUMN.ranges,
        )
        tape = LiveTape(self.writer, example)
        bench = Bench(tape, COLUMN, cluster.members(), LiveCluster(cluster))  # type: ignore[arg-type]
        outcome = evaluate_check(check, bench, inputs, context or {})
        history = tape.end(End(example=example.example, outcome=outcome.end, detail=outcome.detail))
        self.histories.append(history)
        return outcome, history

    def again(self, check: Check, number: int = -1) -> ExampleOutcome:
        """Run the example again on its history, read from the file."""
        history = list(read_histories(self.writer.path))[number]
        bench = Bench(StoredTape(history), COLUMN, Bench.members_of(history.example.members), None)
        return evaluate_check(check, bench, check.parse_inputs(history.example.inputs), history.example.context)


def own(observations: Iterable[Observation]) -> list[Observation]:
    """Return the observations of the check itself, without those of general laws."""
    return [one for one in observations if one.requirement not in ("GEN-03", "GEN-12")]


def grows(log: Log) -> Claims:
    """The log end never falls."""
    before = log.end()
    yield premise(before.offset >= 0, "the log has an end")
    after = log.end()
    yield held_if(after.offset >= before.offset, before, after)
