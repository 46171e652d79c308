"""A replica that was eligible to lead and is removed, when the only other one dies (GEN-SC-04): eligible, elected, or neither."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from conformance.core.checks import ObservationClaim
from conformance.kip101.eligible_replicas import removed_replica_is_all_that_is_left
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from tests.support.clocked_bench import ClockedBench, results

T = TypeVar("T")
ASKED, REMOVED, KEPT = 1, 2, 3


def described(leader: int, *replicas: int) -> PartitionMetadata:
    return PartitionMetadata(
        error=Error.NONE, partition=0, leader=leader, leader_epoch=4, replicas=replicas, isr=(leader,)
    )


class Strict:
    """The partition that needs both replicas; `heir` leads it when the kept one dies, which leads again afterwards or not."""

    replicas = (REMOVED, KEPT)

    def __init__(self, heir: int, comes_back: bool) -> None:
        self.bench = ClockedBench()
        self.bench.processes = SimpleNamespace(stop=lambda name: None)  # type: ignore[attr-defined]
        self.leader = KEPT
        self.assigned: tuple[int, ...] = self.replicas
        self._heir = heir
        self._comes_back = comes_back

    def write(self, *values: bytes) -> None:
        """Do nothing: which records there are is not looked at."""

    def assign(self, *replicas: int) -> None:
        self.assigned = replicas

    def kill(self, id: int) -> None:
        self.leader = self._heir

    def start(self, id: int) -> None:
        self.leader = KEPT if self._comes_back else self.leader

    def wait_until(self, probe: Callable[[], T | None], what: str, *due: Any) -> T:
        return self.bench.eventually(probe, what)

    def state_with_isr(self, asked: int, *ids: int) -> bool:
        return True

    def state_known_to(self, asked: int) -> PartitionMetadata:
        return described(self.leader, *self.assigned)

    def state_with_leader(self, asked: int) -> PartitionMetadata | None:
        return self.state_known_to(asked) if self.leader == KEPT else None


class Replicas:
    """The rig, whose alone partition gets its leader back."""

    asked = ASKED

    def __init__(self, eligible: tuple[int, ...], heir: int = -1, comes_back: bool = True) -> None:
        self.strict = Strict(heir, comes_back)
        self.alone = Strict(-1, True)
        self._eligible = eligible

    def eligible(self) -> tuple[int, ...]:
        return self._eligible

    def await_fenced(self, id: int) -> None:
        """Do nothing: it is fenced at once."""

    def await_unfenced(self, id: int) -> None:
        """Do nothing: it is unfenced at once."""


def claims_of(replicas: Replicas) -> list[Any]:
    """Return the claims before the final reads: a premise, the eligible replicas, the heir and the leader in the end."""
    return list(islice(removed_replica_is_all_that_is_left.body(replicas, records=1), 4))


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        pytest.param(Replicas(()), ["held", "held", "held"], id="forgotten with its replica"),
        pytest.param(Replicas((KEPT,), heir=KEPT), ["held", "held", "held"], id="the kept one is eligible"),
        pytest.param(Replicas((REMOVED,)), ["violated", "held", "held"], id="still eligible"),
        pytest.param(Replicas((REMOVED,), heir=REMOVED), ["violated", "violated", "held"], id="elected"),
        pytest.param(Replicas((), heir=ASKED), ["held", "violated", "held"], id="any broker elected"),
        pytest.param(Replicas((), comes_back=False), ["held", "held", "violated"], id="no leader afterwards"),
    ],
)
def test_what_became_of_the_removed_replica(replicas: Replicas, expected: list[str]) -> None:
    premise, *observed = results(claims_of(replicas))
    assert premise == ("premise", "met")
    assert [result for _, result in observed] == expected
    assert [case for case, _ in observed] == ["partition", "partition", "clean"]


def test_an_election_of_a_broker_without_a_replica_has_its_label() -> None:
    *_, heir, _ = claims_of(Replicas((REMOVED,), heir=REMOVED))
    assert isinstance(heir, ObservationClaim)
    assert heir.observation.label == "elected-without-a-replica"
