"""A run is forecast by playing its items on the workers, by what they cost."""

from __future__ import annotations

import pytest

from conformance.core.registry import every_check
from conformance.running.planning import forecast as module
from conformance.running.planning.budget import Work, kind_of, plan_time
from conformance.running.planning.forecast import BOOT, HEAD, Item, forecast, minutes, plan_lines, sum_lines

PROBES = ["kip320.fencing.newer_epoch_is_unknown", "kip320.fencing.older_epoch_is_fenced"]
MACHINE = "machines.log.LogMachine"


@pytest.fixture(autouse=True)
def _ten_seconds_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cost_of", lambda check, label="": 10.0)


def item(check: str, unit: str, cluster: str = "quick") -> Item:
    """An item on the newest version."""
    work = Work(check=check, label="4.3.1", kind=kind_of(every_check()[check]))
    return Item(work=work, unit=unit, cluster=("4.3.1", cluster))


def test_a_unit_stays_on_one_worker_and_each_other_cluster_costs_a_boot() -> None:
    items = [item(PROBES[0], "a"), item(PROBES[1], "a"), item(PROBES[0], "b", "other"), item(PROBES[1], "c")]
    turns = forecast(items, plan_time("smoke", 0, [], 2), 2)
    found = [(turn.item.unit, turn.worker, turn.begins) for turn in turns]
    assert found == [("a", 0, BOOT), ("b", 1, BOOT), ("a", 0, BOOT + 10), ("c", 1, 2 * BOOT + 10)]


def test_under_a_clock_machines_take_what_is_left_and_what_is_too_late_gets_none() -> None:
    items = [item(PROBES[0], "a"), item(MACHINE, "m")]
    works = [one.work for one in items]
    [probe, machine] = forecast(items, plan_time("quick", 5, works, 1), 1)
    assert (probe.seconds, machine.begins + machine.seconds) == (10.0, 300.0)
    late = forecast(
        [item(PROBES[0], str(n)) for n in range(40)], plan_time("quick", 5, [item(PROBES[0], "").work], 1), 1
    )
    assert sum(not turn.seconds for turn in late) == 40 - len([turn for turn in late if turn.begins < 300])
    assert "the clock leaves no time for" in "\n".join(sum_lines(late, 1))


def test_the_plan_has_a_line_for_each_item_in_order_and_a_sum() -> None:
    turns = forecast([item(PROBES[0], "a"), item(PROBES[1], "a")], plan_time("smoke", 0, [], 1), 1)
    head, *lines = plan_lines(turns)
    assert (head, [line.split()[0] for line in lines]) == (HEAD, ["0:10", "0:20"])
    assert next(sum_lines(turns, 1)) == "items: 2, 20 s of workers, about 0:30 on 1"


def test_minutes() -> None:
    assert [minutes(seconds) for seconds in (0.0, 59.7, 125.0)] == ["0:00", "1:00", "2:05"]
