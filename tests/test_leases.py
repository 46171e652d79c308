"""Leases: so many at once and no more, given back by whoever dies."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures import leases
from fixtures.leases import Lease, turn_to_boot
from fixtures.waiting import Overdue

ROOT = Path(__file__).parent.parent
GIB = 1024**3

HOLDER = """
from fixtures.leases import Lease
lease = Lease("cluster", 1)
lease.take()
print("held", flush=True)
input()
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_CONFORMANCE_STATE", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the only place."""
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_there_are_as_many_places_as_counted() -> None:
    held = [Lease("cluster", 2), Lease("cluster", 2)]
    for lease in held:
        lease.take(within=0)
    with pytest.raises(Overdue, match="one of 2 places of cluster on this machine: not within 0 s"):
        Lease("cluster", 2).take(within=0)
    held[0].release()
    Lease("cluster", 2).take(within=0)


def test_kinds_have_places_of_their_own() -> None:
    Lease("cluster", 1).take(within=0)
    Lease("boot", 1).take(within=0)


def test_a_lease_may_be_released_twice_and_without_being_held() -> None:
    lease = Lease("cluster", 1)
    lease.release()
    lease.take(within=0)
    lease.release()
    lease.release()
    Lease("cluster", 1).take(within=0)


def test_another_process_holds_its_place_until_it_is_killed(holder: subprocess.Popen[str]) -> None:
    mine = Lease("cluster", 1)
    with pytest.raises(Overdue):
        mine.take(within=0)
    holder.kill()
    holder.wait()
    mine.take(within=5)


def test_only_one_boots_at_a_time_on_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "cores", lambda: 2)
    with turn_to_boot(), pytest.raises(Overdue):
        Lease("boot", leases.boots_at_once()).take(within=0)
    Lease("boot", leases.boots_at_once()).take(within=0)


@pytest.mark.parametrize(
    ("cores", "gib", "workers"),
    [(2, 24, 4), (2, 8, 2), (1, 24, 2), (16, 24, 8), (2, 2, 1)],
)
def test_workers_are_limited_by_cores_and_by_memory(
    cores: int, gib: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "cores", lambda: cores)
    monkeypatch.setattr(leases, "memory", lambda: gib * GIB)
    assert leases.workers() == workers


def test_a_container_s_limit_counts_as_memory(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = state / "memory.max"
    limit.write_text(f"{GIB}\n")
    monkeypatch.setattr(leases, "_CGROUP_LIMIT", limit)
    assert leases.memory() == GIB
    limit.write_text("max\n")
    assert leases.memory() > GIB
