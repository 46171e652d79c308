"""Rules of link faults in a node's namespace are there again after a restart, and gone after healing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.cluster import KRaftCluster
from fixtures.faults.base.fault import Fault
from fixtures.faults.base.injector import Injector
from fixtures.faults.base.links import Piece, rule_piece
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.kinds.frames import Delay
from fixtures.faults.kinds.network import Drop, RateLimit
from fixtures.faults.kinds.process import start_all
from fixtures.faults.kinds.shapes import OneLink
from fixtures.faults.lab import LAB
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.waiting import eventually
from protocol.errors import KitError

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def target() -> Iterator[FaultTarget]:
    with (
        Run.begin() as run,
        KRaftCluster(LAB, obtain_image("4.3.1"), run).boot() as cluster,
        FaultTarget.on_new_topic(cluster) as target,
    ):
        yield target


@pytest.mark.parametrize(
    "fault",
    [Drop(role="follower", peer="brokers"), RateLimit(role="follower", peer="clients"), Delay(role="follower")],
    ids=lambda fault: fault.name,
)
def test_a_restart_does_not_open_the_links(target: FaultTarget, fault: Fault) -> None:
    injector = Injector(target)
    with injector.standing_fault(fault):
        target.cluster.node(fault.node).kill()
        start_all(target, [fault.node])
        assert any(line.startswith(f"{fault.node} has rules") for line in target.links.existing_rules())
        same = fault.fresh()
        vars(same).update(vars(fault), _probed=None, _effect=None, _measured={})
        eventually(same.witness, within=60, what=f"{fault.name} shows again", state=target.states)
    assert not target.links.existing_rules()


def test_the_link_between_two_followers_is_cut(target: FaultTarget) -> None:
    fault = OneLink(role="follower", peer="follower")
    with Injector(target).standing_fault(fault):
        leader = target.partition().leader
        [ends] = fault.severed_links
        assert ends == {name for name in target.cluster.brokers if target.id_of(name) != leader}
    assert not target.links.existing_rules()


def test_two_limits_stand_side_by_side(target: FaultTarget) -> None:
    node = target.cluster.brokers[0]
    target.links.limit_rate(node, "one", target.cluster.controllers, 64)
    target.links.limit_rate(node, "other", target.cluster.brokers[1:], 128)
    target.links.remove_rules(node, "one")
    assert target.links.limit_counters(node, "one") is None
    assert target.links.limit_counters(node, "other") is not None
    assert target.links.existing_rules() == [f"{node} has rules of htb, other"]
    target.links.remove_rules(node, "other")
    assert not target.links.existing_rules()


def test_what_was_half_put_is_taken_whole(target: FaultTarget) -> None:
    node = target.cluster.brokers[0]
    dropped = rule_piece("filter", "half", "OUTPUT -p tcp --dport 9 -j DROP")
    with pytest.raises(KitError, match="ended with 1"):
        target.links.place(node, "half", [dropped, Piece("false", "false"), dropped])
    assert target.links.existing_rules() == [f"{node} has rules of half"]
    target.links.remove_rules(node, "half")
    assert not target.links.existing_rules()
