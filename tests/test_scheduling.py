"""Checks of one cluster stay together, and no worker is idle while another has more than its share."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from

from conformance.machines import MachineCheck
from conformance.registry import AnyCheck, every_check
from conformance.running.scheduling import cluster_of, units


def first_letter(name: str) -> str:
    return name[0]


def test_a_cluster_within_a_worker_s_share_is_one_unit() -> None:
    assert units(["a1", "a2", "b1", "b2"], 2, first_letter) == ["a 0", "a 0", "b 0", "b 0"]


def test_a_cluster_beyond_a_share_is_split_in_order() -> None:
    assert units(["a1", "a2", "a3", "a4", "b1", "b2"], 3, first_letter) == ["a 0", "a 0", "a 1", "a 1", "b 0", "b 0"]
    assert units(["a1", "a2", "a3"], 2, first_letter) == ["a 0", "a 0", "a 1"]


@given(lists(sampled_from("abc"), min_size=1).map(sorted), integers(1, 6))
def test_units_hold_one_cluster_each_and_at_most_a_share(names: list[str], workers: int) -> None:
    found = units(names, workers, first_letter)
    assert [unit[0] for unit in found] == names
    assert max(Counter(found).values()) <= -(-len(names) // workers)
    assert found == sorted(found), "what stood together was torn apart"


@pytest.mark.parametrize("check", every_check().values(), ids=lambda check: check.id)
def test_every_check_s_cluster_is_found_by_its_node_id(check: AnyCheck) -> None:
    own = " machine" if isinstance(check, MachineCheck) else ""
    folder, _, name = check.id.removeprefix("conformance.").rpartition(".")
    assert (
        cluster_of(f"conformance/{folder.replace('.', '/')}.py::{name}[4.3.1]") == f"4.3.1 {check.topology.name}{own}"
    )
