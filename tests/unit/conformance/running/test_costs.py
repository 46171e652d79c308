"""Costs of checks are measured in shards; a file that lacks something, or is of another machine, makes estimates."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.core.registry import every_check
from conformance.running.planning import budget, costs
from conformance.running.planning.costs import (
    Cost,
    Costs,
    as_toml,
    cost_deviation_lines,
    measured_costs,
    read_costs,
    refresh_costs,
)
from history.shards import CheckLine, ExampleLine, Shard, read_shard
from tests.support.sample_shards import ShardBuilder

PROBE = "kip320.fencing.newer_epoch_is_unknown"
MACHINE = "machines.log.LogMachine"


def shard(
    folder: Path,
    version: str,
    seconds: float,
    check: str = PROBE,
    profile: str = "smoke",
    outcome: str = "done",
    examples: Sequence[float] = (),
    **used: Any,
) -> Shard:
    """A shard in which one check ended after some seconds, of which its examples took these."""
    built = ShardBuilder(f"s-{version}-{seconds}-{check}", version, profile=profile)
    for number, each in enumerate(examples):
        example = f"e-{number}"
        built.lines.append(
            ExampleLine(shard="s", n=number, example=example, check=check, outcome="judged", rows=[], seconds=each)
        )
    line = {"shard": "s", "n": 9, "check": check, "rows": [], "outcome": outcome, "seconds": seconds, **used}
    built.lines.append(msgspec.convert({"type": "check", "examples": len(examples), **line}, CheckLine))
    return read_shard(built.finish().write(folder))


def test_the_median_of_all_runs_is_what_a_check_costs(tmp_path: Path) -> None:
    shards = [shard(tmp_path, "4.3.1", seconds) for seconds in (3.0, 4.0, 90.0)]
    assert measured_costs(shards) == {PROBE: [Cost(since="4.3.1", seconds=4.0, runs=3)]}


def test_boots_are_no_cost_of_the_check_that_needed_the_cluster(tmp_path: Path) -> None:
    old = shard(tmp_path, "4.3.1", 45.0, examples=[1.0, 2.5])
    new = shard(
        tmp_path, "4.4.0", 44.0, spent={"boot": 40.0, "act": 4.0}, cpu={"kit": 1.0, "nodes": 2.5, "boots": 9.0}, boots=1
    )
    assert measured_costs([old]) == {PROBE: [Cost(since="4.3.1", seconds=3.5, runs=1)]}
    assert measured_costs([new]) == {PROBE: [Cost(since="4.4.0", seconds=4.0, runs=1, cpu=3.5, boots=1)]}
    both = Costs(cores=2, checks=measured_costs([old, new]))
    assert both.checks == {PROBE: [Cost(since="4.3.1", seconds=3.8, runs=2, cpu=3.5, boots=1)]}
    (tmp_path / "costs.toml").write_text(as_toml(both))
    assert read_costs(tmp_path / "costs.toml") == both


def test_versions_that_are_alike_are_one_range(tmp_path: Path) -> None:
    seconds = {"3.3.2": 0.0, "3.9.2": 20.0, "3.10.0": 24.0, "4.3.1": 90.0}
    measured = measured_costs(shard(tmp_path, version, each) for version, each in seconds.items())
    assert [(one.since, one.seconds) for one in measured[PROBE]] == [("3.3.2", 0.0), ("3.9.2", 22.0), ("4.3.1", 90.0)]
    known = Costs(checks=measured)
    of = {version: known.seconds(PROBE, version) for version in ("3.2", "3.8.1", "3.9.2", "4.0.0", "4.4.0", "")}
    assert of == {"3.2": 0.0, "3.8.1": 0.0, "3.9.2": 22.0, "4.0.0": 22.0, "4.4.0": 90.0, "": 90.0}


def test_what_did_not_end_by_itself_is_no_measure(tmp_path: Path) -> None:
    shards = [
        shard(tmp_path, "4.3.1", 7.0, outcome="cut-off"),
        shard(tmp_path, "4.3.1", 8.0, outcome="error"),
        shard(tmp_path, "4.3.1", 300.0, check=MACHINE, profile="quick"),
        shard(tmp_path, "4.3.1", 60.0, check=MACHINE),
    ]
    assert measured_costs(shards) == {MACHINE: [Cost(since="4.3.1", seconds=60.0, runs=1)]}


def test_a_refreshed_file_keeps_what_the_shards_lack_and_leaves_out_what_is_gone(tmp_path: Path) -> None:
    old = [Cost(since="3.3.2", seconds=9.0, runs=1)]
    known = Costs(checks={PROBE: old, MACHINE: old, "kip320.gone": old})
    made = refresh_costs([shard(tmp_path, "4.3.1", 3.0)], known, every_check())
    assert made.checks == {PROBE: [Cost(since="4.3.1", seconds=3.0, runs=1)], MACHINE: old}
    (tmp_path / "costs.toml").write_text(as_toml(made))
    assert read_costs(tmp_path / "costs.toml") == made


@pytest.mark.parametrize("text", [None, "cores = ", "cores = 'two'", "[checks]\na = 5", "\udcff"])
def test_a_file_that_cannot_be_read_makes_estimates(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "costs.toml"
    if text is not None:
        file.write_bytes(text.encode(errors="surrogateescape"))
    read = read_costs(file)
    assert read.seconds(PROBE, "4.3.1") is None
    assert "all checks are estimated by their kind" in next(read.remarks(every_check()))


def test_a_check_that_the_file_lacks_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    check = every_check()[PROBE]
    monkeypatch.setattr(budget, "shipped_costs", Costs)
    assert (budget.cost_of(check, "4.3.1"), budget.is_measured(check)) == (budget.estimate_of(check), False)
    known = Costs(checks={PROBE: [Cost(since="3.3.2", seconds=77.0, runs=1)]})
    monkeypatch.setattr(budget, "shipped_costs", lambda: known)
    labels = ("4.3.1", "4.3.1 part 2", "3.9.2+transaction.version=1", "trunk", "")
    assert {budget.cost_of(check, label) for label in labels} == {77.0}


def test_a_file_with_a_check_that_is_gone_or_of_another_machine_says_so() -> None:
    cost = [Cost(since="3.3.2", seconds=1.0, runs=1)]
    gone = Costs(cores=os.cpu_count() or 0, checks={PROBE: cost, "kip320.gone": cost})
    assert [line.partition(":")[0] for line in gone.remarks(every_check())] == [
        "costs.toml has 1 checks that are gone, such as kip320.gone"
    ]
    other = Costs(cores=(os.cpu_count() or 0) + 1, checks={PROBE: cost})
    assert list(other.remarks(every_check())) == [
        f"the seconds were measured on {other.cores} cores; this machine has {os.cpu_count()}"
    ]
    assert list(Costs(cores=os.cpu_count() or 0, checks={PROBE: cost}).remarks(every_check())) == []


def test_the_file_of_the_kit_names_checks_that_there_are() -> None:
    known = read_costs(costs.FILE)
    assert (known.trouble, known.checks.keys() - every_check().keys()) == ("", set())


@pytest.mark.parametrize(
    ("cost", "seconds", "said"),
    [
        (10.0, 31.0, "31 s, known as 10 s"),
        (60.0, 19.0, "19 s, known as 60 s"),
        (10.0, 29.0, ""),
        (60.0, 21.0, ""),
        (1.0, 15.0, ""),
    ],
)
def test_a_check_that_is_off_by_more_than_three_times_is_named(
    tmp_path: Path, cost: float, seconds: float, said: str
) -> None:
    """A check of a second that had to boot its cluster is not off."""
    known = Costs(checks={PROBE: [Cost(since="3.3.2", seconds=cost, runs=5)]})
    lines = cost_deviation_lines([shard(tmp_path, "4.3.1", seconds)], {PROBE: 5.0}, known)
    assert lines == ([f"cost  {PROBE} on 4.3.1: {said}"] if said else [])


def test_an_estimate_that_was_off_is_called_one_and_only_the_worst_are_named(tmp_path: Path) -> None:
    ids = [f"kip320.x.check{n}" for n in range(12)]
    shards = [shard(tmp_path, "4.3.1", 100.0 + n, check=id) for n, id in enumerate(ids)]
    lines = cost_deviation_lines(shards, dict.fromkeys(ids, 5.0), Costs())
    assert lines[0] == "cost  kip320.x.check11 on 4.3.1: 111 s, estimated 5 s"
    assert (len(lines), lines[-1]) == (11, "cost  and 2 more")
