"""A storm: what counts, what is told, and when it is no success."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import storm as storm_module
from conformance.cli.storm import Storm, as_json, draw_plans, is_success, storm_summary
from fixtures.faults.kinds.logs import RetentionByTime
from fixtures.faults.kinds.process import Kill, Stop
from fixtures.faults.plans import Overlap, Plan, Single
from protocol.errors import KitError
from tests.support.fake_faults import FakeTarget, Recorded


class FakeTargets:
    """Targets in memory; `kept` is where the storm leaves the logs."""

    def __init__(self) -> None:
        self.kept = Path()
        self.replaced = 0
        self.closed = False
        self._target = FakeTarget()

    def target(self) -> FakeTarget:
        return self._target

    def logs(self) -> dict[str, str]:
        return {"broker-1": "it will not do\n"}

    def replace(self) -> None:
        self.replaced += 1
        self._target = FakeTarget()

    def close(self) -> None:
        self.closed = True


class FakeTraffic:
    acknowledged, unacknowledged, longest_gap, seconds = 10, 1, 2.5, 4.0

    def __init__(self, _: Any, trouble: Exception | None = None) -> None:
        self._trouble = trouble

    def start(self) -> FakeTraffic:
        return self

    def stop(self) -> None:
        if self._trouble is not None:
            raise self._trouble


@pytest.fixture
def targets(tmp_path: Path) -> FakeTargets:
    made = FakeTargets()
    made.kept = tmp_path / "kept"
    return made


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storm_module, "HEALTHY_TIMEOUT", 0.05)


def run_storm(
    targets: FakeTargets, *faults: Recorded, count: int, trouble: Exception | None = None
) -> tuple[Storm, list[str]]:
    lines: list[str] = []
    storm = Storm(targets, lines.append, targets.kept, lambda target: FakeTraffic(target, trouble))  # type: ignore[arg-type, return-value]
    storm.run(once(*faults), count)
    return storm, lines


def once(*faults: Recorded) -> Iterator[Plan]:
    return (Single(fault=fault) for fault in cycle(faults))


def test_a_storm_goes_on_until_so_many_cycles_count(targets: FakeTargets) -> None:
    storm, lines = run_storm(targets, Recorded(), Recorded(possible=False), count=3)
    assert [one.ending for one in storm.cycles] == ["healed", "skipped", "healed", "skipped", "healed"]
    assert (len(lines), is_success(storm), targets.closed) == (5, True, True)
    assert "traffic: 10 records acknowledged (2 a second), 1 not, longest gap 2.5 s" in storm_summary(storm)
    assert "| recorded | 3 | 0 | 0 | 0 | 0 | 2 |" in "\n".join(storm_summary(storm))
    assert "skipped (2): recorded of the leader: recorded is not available here: it cannot be" in storm_summary(storm)


def test_the_summary_as_json_has_each_cycle_in_its_order(targets: FakeTargets) -> None:
    storm, _ = run_storm(targets, Recorded(), Recorded(possible=False), count=2)
    printed: Any = json.loads(json.dumps(as_json(storm)))
    assert [one["ending"] for one in printed["cycles"]] == ["healed", "skipped", "healed"]
    assert (printed["succeeded"], printed["traffic"]["unacknowledged"]) == (True, 1)


TROUBLE = [
    (Recorded(shows=False), "unwitnessed", "| recorded | 2 | 1 | 0 | 0 | 0 | 0 |"),
    (Recorded(heals=False), "unhealed", "| recorded | 2 | 0 | 0 | 1 | 0 | 0 |"),
    (Recorded(follows=False), "no consequence", "| recorded | 2 | 0 | 1 | 0 | 0 | 0 |"),
    (Recorded(acts=False), "error", "| recorded | 2 | 0 | 0 | 0 | 1 | 0 |"),
]


@pytest.mark.parametrize(("fault", "ending", "row"), TROUBLE, ids=[ending for _, ending, _ in TROUBLE])
def test_trouble_is_told_with_what_was_drawn_and_is_no_success(
    targets: FakeTargets, fault: Recorded, ending: str, row: str
) -> None:
    """The storm goes on with a cluster that is whole all the same, but for one that did not heal."""
    storm, lines = run_storm(targets, fault, Recorded(), count=2)
    assert [one.ending for one in storm.cycles] == [ending, "healed"]
    assert '"fault":"recorded"' in lines[0]
    assert row in "\n".join(storm_summary(storm))
    assert (is_success(storm), targets.replaced) == (False, ending == "unhealed")


def test_a_cluster_that_stays_broken_is_replaced_and_accounted_for(targets: FakeTargets) -> None:
    targets.target().lacks = ["broker-3 is exited"]
    storm, lines = run_storm(targets, Recorded(shows=False), Recorded(), count=3)
    assert [one.ending for one in storm.cycles] == ["unwitnessed", "healed", "unwitnessed"]
    assert "THE CLUSTER IS REPLACED: whole after trouble: not within 0.05 s" in lines[0]
    assert "1 clusters replaced" in "\n".join(storm_summary(storm))
    assert (is_success(storm), targets.replaced) == (False, 1)
    [log] = targets.kept.iterdir()
    assert (log.name, log.read_text()) == ("1-broker-1.log", "it will not do\n")
    assert storm.traffic.acknowledged == 20


def test_a_writer_that_gave_up_is_no_success(targets: FakeTargets) -> None:
    storm, _ = run_storm(targets, Recorded(), count=1, trouble=ZeroDivisionError("a bug"))
    assert not is_success(storm)
    assert storm_summary(storm)[-1] == "traffic ended early: ZeroDivisionError: a bug"


def test_a_storm_of_what_cannot_be_ends(targets: FakeTargets) -> None:
    with pytest.raises(KitError, match="it cannot be"):
        run_storm(targets, Recorded(possible=False), count=1)
    assert targets.closed


def test_of_two_at_a_time_each_counts(targets: FakeTargets) -> None:
    plans = cycle(
        [Overlap(first=Recorded(), second=Recorded(on="broker-2")), Overlap(first=Recorded(), second=Recorded())]
    )
    storm = Storm(targets, lambda _: None, targets.kept, FakeTraffic)  # type: ignore[arg-type]
    storm.run(plans, 4)
    assert [one.ending for one in storm.cycles] == ["healed"] * 4
    two = Overlap(first=Recorded(), second=Recorded(shows=False, on="broker-2"))
    storm.run(iter([two]), 5)
    assert (storm.cycles[-1].fault, storm.cycles[-1].ending) == ("recorded beside recorded", "unwitnessed")


def test_no_plan_begins_after_the_minutes_are_over(targets: FakeTargets) -> None:
    storm = Storm(targets, lambda _: None, targets.kept, FakeTraffic)  # type: ignore[arg-type]
    storm.run(once(Recorded()), 5, minutes=0)
    assert (storm.cycle_count, targets.closed) == (0, True)


@pytest.mark.parametrize("at_once", [2, 3])
def test_several_at_a_time_are_drawn_of_those_that_can_be(at_once: int) -> None:
    drawn = list(islice(draw_plans(1, [Kill, RetentionByTime, Stop], at_once=at_once), 20))
    assert {len(plan.faults) for plan in drawn if isinstance(plan, Overlap)} == {at_once}
    assert {type(fault) for plan in drawn if isinstance(plan, Overlap) for fault in plan.faults} == {Kill, Stop}
    with pytest.raises(KitError, match="no two of these faults may overlap: every replica has to take part"):
        next(draw_plans(1, [RetentionByTime], at_once=at_once))
