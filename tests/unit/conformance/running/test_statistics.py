"""The coverage at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.core.checks import Check, Rig
from conformance.core.machines import KafkaMachine
from conformance.core.model import FaultModel
from conformance.judging.judge import Finding, judge
from conformance.running.recording.statistics import statistics_lines, totals_by_check
from history.events import History
from history.shards import CheckLine, ExampleLine, ExcuseCount, FaultCount, PremiseCount, Shard, read_shard
from strategies.steps import Step
from tests.support.fake_cluster import TOPOLOGY
from tests.support.fake_faults import Lonely, Recorded
from tests.support.fake_lab import JudgedMachine
from tests.support.sample_shards import ShardBuilder

ROW = "KIP101-INV-01"


class Produce(Step, frozen=True, tag="produce"):
    pass


class Trim(Step, frozen=True, tag="trim"):
    pass


class Disturb(Step, frozen=True, tag="disturb"):
    fault: Recorded | Lonely


class Machine(KafkaMachine[FaultModel]):
    """Does nothing."""

    model_type = FaultModel


@judge(ROW)
def nothing(history: History) -> Iterator[Finding]:
    yield from ()


def executor(_: Any) -> Any:
    raise NotImplementedError


MACHINE = JudgedMachine(
    id="machine",
    topology=TOPOLOGY,
    machine=Machine,
    executor=executor,
    step=Produce | Trim | Disturb,
    judges=[nothing],
    opening=[],
    injects=[Recorded, Lonely],
)


def body() -> Any:
    yield from ()


SCENARIO = Check(
    own_rows=(ROW,),
    rig=Rig(TOPOLOGY, lambda bench: Produce(), lambda *_: None),
    cases=None,
    examples=2,
    smoke=False,
    body=body,
    schedule="KIP101-SC-03",
)


class Builder(ShardBuilder):
    def of(self, check: str, outcome: str = "judged", **fields: Any) -> Builder:
        self._add(ExampleLine, example=f"e-{len(self.lines)}", check=check, outcome=outcome, rows=[ROW], **fields)
        return self

    def ends(self, check: str, outcome: str = "done") -> Builder:
        self._add(CheckLine, check=check, rows=[ROW], outcome=outcome)
        return self


def coverage_lines(folder: Path, *shards: ShardBuilder, checks: dict[str, Any]) -> list[str]:
    read: list[Shard] = [read_shard(shard.write(folder)) for shard in shards]
    return statistics_lines(totals_by_check(read, "r1"), checks)


def machine_lines(folder: Path, *shards: ShardBuilder) -> list[str]:
    return coverage_lines(folder, *shards, checks={"machine": MACHINE})


def test_a_machine_tells_what_it_reached_over_all_workers_and_what_never(tmp_path: Path) -> None:
    one = Builder("s-1").of("machine", steps={"produce": 3, "disturb": 1}, seconds=2.0)
    two = Builder("s-2").of(
        "machine",
        "error",
        steps={"produce": 1},
        faults={"recorded": FaultCount(injected=2, witnessed=1, healed=1)},
        premises={"at rest": PremiseCount(met=1, unmet=2)},
        excuses=[ExcuseCount(requirement=ROW, case="time", excuse="open outcome", times=4)],
        seconds=3.0,
        detail="KitError: a write to topic-261121-205029-99f7-master-5-3-0 was refused\nmore",
    )
    one.observe(ROW, "replicas", count=7, check="machine")
    assert machine_lines(tmp_path, one.finish(), two.finish()) == [
        "machine on 4.3.1: 2 examples (1 error, 1 judged), 5 steps, 5 s",
        "  steps     disturb 1, produce 4",
        "            NEVER: trim",
        "  faults    recorded 1 of 2 injected",
        "            NEVER: lonely",
        "  premises  at rest: 1 of 3",
        f"  cases     {ROW} replicas 7",
        f"            NEVER: {ROW} time",
        f"  excused   {ROW} time 4 by 'open outcome'",
        "  trouble   1 times KitError: a write to topic was refused",
    ]


def test_columns_are_told_apart_and_other_runs_left_out(tmp_path: Path) -> None:
    shards = [
        Builder("s-1").of("machine"),
        Builder("s-2", version="3.9.2").of("machine"),
        Builder("s-3", run="r0").of("machine"),
    ]
    heads = [line.partition(":")[0] for line in machine_lines(tmp_path, *shards) if not line.startswith(" ")]
    assert heads == ["machine on 3.9.2", "machine on 4.3.1"]


def test_probes_are_not_told_of(tmp_path: Path) -> None:
    assert coverage_lines(tmp_path, Builder("s-1").of("probe").ends("probe"), checks={}) == []


def schedule_lines(folder: Path, shard: Builder) -> list[str]:
    [line] = coverage_lines(folder, shard, checks={"sc": SCENARIO})
    return line.split()


@pytest.mark.parametrize(
    ("outcomes", "ended", "counted", "word"),
    [
        (["judged", "judged"], "done", "premise reached 2 of 2", "satisfied"),
        (["judged", "premise lost"], "done", "premise reached 1 of 2", "inconclusive"),
        (["error", "error"], "error", "premise reached 0 of 2", "error"),
        ([], "cut-off", "not run", "not-run"),
    ],
)
def test_a_schedule_has_a_line(tmp_path: Path, outcomes: list[str], ended: str, counted: str, word: str) -> None:
    shard = Builder("s-1")
    for outcome in outcomes:
        shard.of("sc", outcome, seconds=4.0)
    line = " ".join(schedule_lines(tmp_path, shard.ends("sc", ended)))
    assert line == f"KIP101-SC-03 4.3.1 {counted} {word} {4 * len(outcomes)} s {SCENARIO.id}"


def test_a_schedule_that_broke_a_row_names_it(tmp_path: Path) -> None:
    shard = Builder("s-1").of("sc").of("sc")
    shard.observe(ROW, "time", "violated", count=1, check="sc")
    assert f"violated ({ROW})" in " ".join(schedule_lines(tmp_path, shard.ends("sc")))
