"""Ending, freezing and starting nodes: what the tape has of it, and what is healed afterwards."""

from __future__ import annotations

from contextlib import suppress

import pytest

from conformance.core.bench import Bench
from conformance.core.processes import Processes
from fixtures.faults.kinds.process import Kill
from fixtures.tape import StoredTape
from history.events import End, Fault
from protocol.errors import KitError
from tests.miniature.bench import COLUMN, MEMBERS, live_tape, mini_bench
from tests.miniature.core.cluster import MiniCluster


@pytest.fixture
def bench() -> Bench:
    return mini_bench(MiniCluster())


@pytest.fixture
def processes(bench: Bench) -> Processes:
    return bench.processes


def phases(bench: Bench) -> list[tuple[str, str, str]]:
    return [(event.fault, event.phase, event.node) for event in bench.tape.history.events if isinstance(event, Fault)]


def test_a_killed_node_is_witnessed_and_healed_by_its_start(bench: Bench, processes: Processes) -> None:
    assert processes.kill("broker-1", role="leader").state == "exited"
    assert processes.are_broken
    assert processes.start("broker-1").state == "running"
    assert not processes.are_broken
    assert phases(bench) == [("kill", phase, "broker-1") for phase in ("inject", "witness", "heal")]


def test_nodes_crash_side_by_side_before_any_is_witnessed(bench: Bench, processes: Processes) -> None:
    assert set(processes.crash("broker-1", "broker-2").values()) == {"exited"}
    assert [phase for _, phase, _ in phases(bench)] == ["inject", "inject", "witness", "witness"]
    assert processes.stopped_or_frozen(bench.brokers) == ["broker-1", "broker-2"]


def test_a_controlled_shutdown_is_begun_and_then_seen_out(bench: Bench, processes: Processes) -> None:
    processes.terminate("broker-2")
    assert not processes.are_broken
    assert processes.stop("broker-2").state == "exited"
    assert phases(bench)[-1] == ("stop", "witness", "broker-2")


def test_a_node_is_down_for_as_long_as_the_block_lasts(bench: Bench, processes: Processes) -> None:
    with processes.down("broker-3") as done:
        assert (done.state, processes.stopped_or_frozen(bench.brokers)) == ("exited", ["broker-3"])
    assert processes.stopped_or_frozen(bench.brokers) == []
    with suppress(ZeroDivisionError), processes.down("broker-3"):
        raise ZeroDivisionError
    assert processes.stopped_or_frozen(bench.brokers) == []


def test_a_frozen_node_is_asked_last_and_a_killed_one_in_its_turn(bench: Bench, processes: Processes) -> None:
    processes.kill("broker-2")
    processes.pause("broker-1")
    assert bench.reachable(bench.brokers) == ["broker-2", "broker-3", "broker-1"]
    processes.resume("broker-1")
    assert bench.reachable(bench.brokers) == ["broker-1", "broker-2", "broker-3"]


def test_frozen_nodes_are_resumed_and_dead_ones_started(bench: Bench, processes: Processes) -> None:
    processes.pause("broker-1")
    processes.kill("broker-2")
    processes.heal_all()
    assert processes.stopped_or_frozen(bench.brokers) == []
    calls = [call.op for call, _ in bench.tape.history.answered_calls()]
    assert calls == ["pause", "kill", "resume", "start"]


def test_a_kill_that_shows_no_effect_is_trouble_of_the_kit(
    bench: Bench, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kill, "act", lambda *_: None)
    with pytest.raises(KitError, match="kill of broker-1 shows no effect: the engine reports running, not exited"):
        processes.kill("broker-1")


def test_a_stored_tape_needs_no_cluster() -> None:
    tape = live_tape(MiniCluster())
    live = mini_bench(MiniCluster(), tape)
    before = [live.processes.pause("broker-1"), live.processes.resume("broker-1")]
    stored = Bench(StoredTape(tape.end(End(example="miniature-1", outcome="judged"))), COLUMN, MEMBERS, None)
    assert [stored.processes.pause("broker-1"), stored.processes.resume("broker-1")] == before
