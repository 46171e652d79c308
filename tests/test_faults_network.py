"""What cut links let follow, and the shapes of partitions: pure logic."""

from __future__ import annotations

import pytest

from fixtures.faults.links import CLIENTS
from fixtures.faults.network import retransmitted
from fixtures.faults.outlook import Outlook, pairs
from fixtures.faults.shapes import halves, ring

CONTROLLERS, BROKERS = ["c1", "c2", "c3"], ["b1", "b2", "b3"]
NODES = [*CONTROLLERS, *BROKERS]


def outlook(*cut: tuple[str, str]) -> Outlook:
    """c1 is the active controller, b1 the leader, all brokers are in the ISR."""
    return Outlook(
        controllers=CONTROLLERS, brokers=BROKERS, active="c1", leader="b1", isr=BROKERS, cut=pairs(cut)
    )  # fmt: skip


def without(node: str) -> list[tuple[str, str]]:
    return [(node, other) for other in NODES if other != node]


def promised(outlook: Outlook) -> dict[str, object]:
    promises = {
        "controller moves": outlook.controller_moves,
        "leader moves": outlook.leader_moves,
        "fenced": outlook.fenced,
        "lagging": outlook.lagging,
        "dropped": outlook.dropped,
    }
    return {what: promise for what, promise in promises.items() if promise}


@pytest.mark.parametrize(
    ("cut", "follows"),
    [
        ([], {}),
        (without("b1"), {"leader moves": True, "fenced": ["b1"]}),
        (without("b2"), {"fenced": ["b2"], "dropped": ["b2"]}),
        ([("b1", "c1")], {"leader moves": True, "fenced": ["b1"]}),
        ([("b1", "c2"), ("b1", "c3")], {}),
        ([("b1", "b2"), ("b1", "b3")], {}),
        (without("c1"), {"controller moves": True, "lagging": ["c2", "c3"]}),
        (without("c2"), {"lagging": ["c2"]}),
        ([("c1", "c2")], {}),
        ([("b1", CLIENTS)], {}),
        ([(b, CLIENTS) for b in BROKERS] + without("b1"), {}),
        (halves(["c1", "b1", "b2", "c2", "b3", "c3"]), {
            "controller moves": True, "leader moves": True, "fenced": ["b1", "b2"], "lagging": ["c2", "c3"],
            "dropped": ["b2"],
        }),
        (halves(["c1", "c2", "c3", "b1", "b2", "b3"]), {}),
    ],
)  # fmt: skip
def test_only_what_is_certain_is_promised(cut: list[tuple[str, str]], follows: dict[str, object]) -> None:
    assert promised(outlook(*cut)) == follows


@pytest.mark.parametrize(
    ("one", "other", "busy"),
    [("c1", "c2", True), ("c1", "b3", True), ("b1", "b2", True), ("c2", "c3", False), ("b2", "b3", False)],
)
def test_links_carry_traffic_by_role(one: str, other: str, busy: bool) -> None:
    assert outlook().busy(one, other) is busy
    assert outlook().busy(other, one) is busy


def test_clients_send_nothing_by_themselves() -> None:
    assert not outlook().busy("b1", CLIENTS)


def test_in_a_ring_each_sees_two() -> None:
    cut = pairs(ring(NODES))
    assert all(sum(frozenset((one, other)) not in cut for other in NODES if other != one) == 2 for one in NODES)


def test_halves_of_an_odd_number_differ_by_one() -> None:
    assert halves(["a", "b", "c"]) == [("a", "b"), ("a", "c")]


def test_retransmitted_segments_are_found_by_name() -> None:
    told = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm InSegs RetransSegs InErrs\nTcp: 1 700 12 0\nUdp: In\nUdp: 3\n"
    assert retransmitted(told) == 12
