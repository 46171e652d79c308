"""Checks of one cluster stay together, and no worker is idle while another has more than its share."""

from collections import Counter
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from

from conformance.core.checks import Check
from conformance.core.machines import MachineCheck
from conformance.core.registry import AnyCheck, check_of_item, every_check, is_soak, shortest_profile
from conformance.core.topologies import adapt_topology
from conformance.running.planning.budget import Work
from conformance.running.planning.scheduling import ByCluster, assign_units, cluster_of, share_count, weight_of, work_of


def first_letter(name: str) -> str:
    return name[0]


def test_a_cluster_within_a_worker_s_share_is_one_unit() -> None:
    assert assign_units(["a1", "a2", "b1", "b2"], 2, first_letter) == ["a 0", "a 0", "b 0", "b 0"]


def test_a_cluster_beyond_a_share_is_split_in_order() -> None:
    assert assign_units(["a1", "a2", "a3", "a4", "b1", "b2"], 3, first_letter) == [
        "a 0",
        "a 0",
        "a 1",
        "a 1",
        "b 0",
        "b 0",
    ]
    assert assign_units(["a1", "a2", "a3"], 2, first_letter) == ["a 0", "a 0", "a 1"]


def test_a_cluster_of_few_long_checks_is_split_too() -> None:
    weights = {"a": 6, "b": 1}
    names = ["a1", "a2", "b1", "b2", "b3"]
    assert assign_units(names, 2, first_letter, lambda name: weights[name[0]]) == ["a 0", "a 1", "b 0", "b 0", "b 0"]


def work(nodeid: str, *, whole: bool = False) -> Work:
    """The item of a node, in a run of some rows or of a whole profile."""
    return work_of(nodeid, whole=whole)


def test_schedules_and_probes_are_weighed_as_they_last() -> None:
    schedule, probe = "conformance/kip101/power_loss.py::all_nodes_without_power", "conformance/kip320/fencing.py::"
    works = [work(f"{schedule}[3.3.2]"), work(f"{probe}newer_epoch_is_unknown[3.3.2]")]
    assert weight_of(works[0]) > 5 * weight_of(works[1])


class Worker:
    """A worker as the scheduler knows it. Like xdist's, it begins a check only when it knows the next, or that it is the last."""

    gateway = SimpleNamespace(id="worker")

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.ran: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def next(self) -> int:
        return self.sent[len(self.ran)]

    @property
    def waits(self) -> bool:
        return len(self.sent) - len(self.ran) < (1 if self.shutting_down else 2)


def lasts(nodeid: str) -> int:
    return 1000 if isinstance(check_of_item(nodeid), MachineCheck) else weight_of(work(nodeid))


def by_three_workers(collected: list[str]) -> list[list[str]]:
    """The items of each of three workers, if all checks last as long as their weight."""
    workers = [Worker(), Worker(), Worker()]
    option = SimpleNamespace(loadscopereorder=False)
    scheduler = ByCluster(
        cast(pytest.Config, SimpleNamespace(option=option, getvalue=lambda _: ["popen"] * 3)),
        None,
        timed=True,
        whole=False,
    )
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, collected)
    scheduler.schedule()
    clocks = dict.fromkeys(workers, 0)
    while busy := [worker for worker in workers if not worker.waits]:
        first = min(busy, key=lambda worker: clocks[worker] + lasts(collected[worker.next]))
        clocks[first] += lasts(collected[first.next])
        first.ran.append(first.next)
        scheduler.mark_test_complete(first, first.ran[-1])
    return [[collected[index] for index in worker.ran] for worker in workers]


def node_id(check: AnyCheck, part: str = "") -> str:
    return f"{check.module.replace('.', '/')}.py::{check.id.rpartition('.')[2]}[4.3.1{part}]"


def test_three_workers_share_a_column_s_schedules_and_the_parts_of_its_machine() -> None:
    checks = every_check().values()
    parts = [node_id(check, f" part {n}") for check in checks if isinstance(check, MachineCheck) for n in (1, 2, 3)]
    others = [node_id(check) for check in checks if not isinstance(check, MachineCheck)]
    ran = by_three_workers(sorted(others) + parts)
    assert sorted(name for names in ran for name in names) == sorted(others + parts), "each check once"
    assert [sum(name in parts for name in names) for names in ran] == [len(parts) // 3] * 3
    loads = [sum(lasts(name) for name in names if name not in parts) for names in ran]
    assert max(loads) < 1.15 * sum(loads) / 3


def test_short_checks_are_not_spread_over_more_clusters_than_workers() -> None:
    checks = [check for check in every_check().values() if isinstance(check, Check)]
    short = [work(node_id(check)) for check in checks if not check.schedule]
    long = [work(node_id(check)) for check in checks if check.schedule]
    assert (share_count(short, 3), share_count(short + long, 3)) == (3, 9)


@given(lists(sampled_from("abc"), min_size=1).map(sorted), integers(1, 6))
def test_units_hold_one_cluster_each_and_at_most_a_share(names: list[str], workers: int) -> None:
    found = assign_units(names, workers, first_letter)
    assert [unit[0] for unit in found] == names
    assert max(Counter(found).values()) <= -(-len(names) // workers)
    assert found == sorted(found), "what stood together was torn apart"


@pytest.mark.parametrize("check", every_check().values(), ids=lambda check: check.id)
def test_every_check_s_cluster_is_found_by_its_node_id(check: AnyCheck) -> None:
    """Under a clock apart from what other profiles add, and from machines that use all the time; without one by cluster only."""
    name, profile = f"4.3.1 {adapt_topology(check.topology, '4.3.1').name}", shortest_profile(check)
    stage = "" if profile == "smoke" else f" {profile}"
    own = " machine" if isinstance(check, MachineCheck) else " soak" if is_soak(check) else stage
    assert cluster_of(work(node_id(check))) == name + own
    assert cluster_of(work(node_id(check), whole=True)) == name + (
        own if not isinstance(check, MachineCheck) else stage
    )
    assert cluster_of(work(node_id(check)), timed=False) == name + (" soak" if is_soak(check) else "")


def test_a_machine_opens_in_its_first_part_of_a_whole_profile() -> None:
    ids = [
        "conformance/machines/log/machine.py::LogMachine[4.3.1]",
        "conformance/machines/log/machine.py::LogMachine[4.3.1 part 2]",
    ]
    assert [work(id, whole=True).kind for id in ids] == ["opening", "machine"]
    assert [(work(id).kind, work(id).label, work(id).part) for id in ids] == [
        ("machine", "4.3.1", 1),
        ("machine", "4.3.1", 2),
    ]
    assert work("::rarest_cases[4.3.1 part 2]") == Work(check="rarest_cases", label="4.3.1", kind="rarest", part=2)
