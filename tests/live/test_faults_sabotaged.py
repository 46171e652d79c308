"""Every fault of the catalogue with its act left out, on a live cluster: the witness stays away, and the kit says so."""

from collections.abc import Iterator

import pytest

from fixtures.cluster import ClusterNode, KRaftCluster
from fixtures.engine import connect
from fixtures.faults.base.fault import Fault
from fixtures.faults.base.injector import Injector, Unwitnessed
from fixtures.faults.base.links import Links
from fixtures.faults.base.target import FaultTarget
from fixtures.faults.catalogue import FAULTS
from fixtures.faults.kinds.disk import FailedDirectory
from fixtures.faults.kinds.process import Kill, Pause, PausePastFencing
from fixtures.faults.kinds.upgrade import Upgrade
from fixtures.faults.kinds.zombies import CutOffFromControllers, PausedZombie
from fixtures.faults.lab import LAB
from fixtures.faults.selftest import without_effect
from fixtures.images import obtain_image
from fixtures.runs import Run
from fixtures.waiting import eventually

pytestmark = pytest.mark.docker

SOON = 3.0


@pytest.fixture(scope="module")
def target() -> Iterator[FaultTarget]:
    with Run.begin() as run:
        with (
            KRaftCluster(LAB, obtain_image("4.3.1"), run).boot() as cluster,
            FaultTarget.on_new_topic(cluster, min_insync_replicas="1") as found,
        ):
            yield found
        assert run.end(connect()) == [], "a fault left something on the engine"


@pytest.mark.parametrize("kind", [kind for kind in FAULTS if kind is not FailedDirectory], ids=lambda kind: kind().name)
def test_a_fault_that_is_not_injected_is_not_witnessed(kind: type[Fault], target: FaultTarget) -> None:
    """But a failed log directory: that takes brokers with several."""
    if kind is Upgrade and not kind().availability(target):
        pytest.skip(kind().availability(target).reason)
    assert_noticed(without_effect(kind(role=kind.roles[0])), target)


@pytest.mark.parametrize("kind", [Kill, Pause, PausePastFencing], ids=lambda kind: kind().name)
def test_a_process_that_is_left_alone_is_noticed(
    kind: type[Fault], target: FaultTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine was told, but did nothing."""
    for act in ("kill", "pause", "resume"):
        monkeypatch.setattr(ClusterNode, act, lambda node: None)
    assert_noticed(soon(kind()), target)


def test_a_zombie_that_was_never_frozen_is_noticed(target: FaultTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterNode, "pause", lambda node: None)
    assert_noticed(soon(PausedZombie()), target)


def test_a_rule_that_is_not_applied_is_noticed(target: FaultTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Links, "add_rules", lambda *_: None)
    assert_noticed(soon(CutOffFromControllers()), target)


def test_a_rule_that_matches_nothing_is_noticed(target: FaultTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in place, but for an unused address."""
    monkeypatch.setattr(ClusterNode, "address", "192.0.2.1")
    assert_noticed(soon(CutOffFromControllers()), target)


def soon(fault: Fault) -> Fault:
    vars(fault).update(witness_within=SOON)
    return fault


def assert_noticed(fault: Fault, target: FaultTarget) -> None:
    injector = Injector(target)
    with pytest.raises(Unwitnessed, match=rf"{fault.name} of the {fault.role}.* shows: not within"):
        injector.inject(fault)
    assert injector.open == []
    eventually(lambda: not target.why_unhealthy(), within=10, what="a whole target", state=target.states)
