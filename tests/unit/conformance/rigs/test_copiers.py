"""Clients that copy records: what they share, how much they copy, and what they tell of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.core.waiting import Settled
from conformance.rigs.groups.copiers import Copiers
from history.readings import CopyStep, OwnershipChange

TRIES = 5


class FakeBench:
    """Clients whose steps a test writes; each step without one shows nothing."""

    def __init__(self) -> None:
        self.tape = self
        self.wait = self
        self.steps: dict[str, list[tuple[str, CopyStep]]] = {}
        self.done: list[tuple[str, str]] = []
        self.told: list[tuple[str, str, list[int]]] = []

    def fresh_name(self, prefix: str) -> str:
        return f"{prefix}-{len({name for name, _ in self.done})}"

    def start_copying(self, name: str, group: str, protocol: str, source: str, target: str) -> CopyStep:
        self.done.append((name, "start"))
        return CopyStep()

    def copy_records(self, name: str, do: str) -> CopyStep:
        self.done.append((name, do))
        steps = self.steps.get(name, [])
        return steps.pop(0)[1] if steps and steps[0][0] == do else CopyStep()

    def call(self, node: str, op: str, request: dict[str, str], answer: type, do: Any) -> None:
        self.told.append((node, request["how"], [partition for _, partition in do().partitions]))

    def becomes_true(self, probe: Any, what: str, within: float) -> Settled:
        return Settled(1, any(probe() for _ in range(TRIES)), within)


@pytest.fixture
def bench() -> FakeBench:
    return FakeBench()


@pytest.fixture
def copiers(bench: FakeBench) -> Copiers:
    group = SimpleNamespace(bench=bench, name="group", topic=SimpleNamespace(name="from"), partitions=2)
    copies = SimpleNamespace(name="to")
    copying: Any = SimpleNamespace(group=group, copies=copies, ends=[3, 3], committed_offsets=lambda: [3, 3])
    return Copiers(copying, "consumer")


def has(*partitions: int, how: Any = "assigned") -> OwnershipChange:
    return OwnershipChange(how, "id", tuple(("from", one) for one in partitions))


def test_all_read_until_they_share_the_partitions(bench: FakeBench, copiers: Copiers) -> None:
    first, second = copiers.start(), copiers.start()
    bench.steps = {
        first.name: [("read", CopyStep((has(0, 1),))), ("read", CopyStep((has(0, how="revoked"),)))],
        second.name: [("read", CopyStep()), ("read", CopyStep((has(1),)))],
    }
    copiers.share()
    assert bench.told == [
        (first.name, "assigned", [0, 1]),
        (first.name, "revoked", [0]),
        (second.name, "assigned", [1]),
    ]
    assert [do for _, do in bench.done] == ["start", "start", *["read"] * 4]


def test_it_has_copied_what_it_ended_without_trouble(bench: FakeBench, copiers: Copiers) -> None:
    one = copiers.start()
    bench.steps[one.name] = [
        ("begin", CopyStep((has(0, 1),), copied=(1, 0))),
        ("end", CopyStep(trouble="refused")),
        ("begin", CopyStep(copied=(1, 0))),
        ("end", CopyStep()),
    ]
    copiers.copy(one, 1)
    assert (one.ends, bench.steps[one.name], copiers.each_copied) == ({1: 1}, [], True)
    copiers.start()
    assert not copiers.each_copied


def test_without_a_partition_it_copies_nothing(bench: FakeBench, copiers: Copiers) -> None:
    one, other = copiers.start(), copiers.start()
    copiers.copy(one, 2)
    assert bench.done[2:] == [(one.name, "begin"), (one.name, "end"), (one.name, "read"), (other.name, "read")]


def test_at_the_end_all_have_left_and_nothing_is_open(bench: FakeBench, copiers: Copiers) -> None:
    gone, here = copiers.start(), copiers.start()
    copiers.leave(gone)
    bench.steps[gone.name] = [("end", CopyStep(trouble="no broker")), ("end", CopyStep())]
    copiers.copy_all()
    assert [do for name, do in bench.done if name == gone.name] == ["start", "leave", "end", "end"]
    assert [do for name, do in bench.done if name == here.name] == ["start", "begin", "end", "leave", "end", "end"]
