"""When a probe has had enough rounds, and how its examples end once the cluster was healed or has to be replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.core.bench import Bench
from conformance.core.checks import Claims, Rig, held_if
from conformance.core.evaluate import ExampleEnd
from conformance.core.profiles import Profile
from conformance.running import lab as lab_module
from conformance.running.probe.run import _has_enough, example_end
from conformance.running.standing import REPLACED_NOTE
from history.events import AnyEvent, Ended, Example, History, Overdue
from history.observations import Observation
from history.shards import ExampleLine
from protocol.errors import KitError
from tests.support.fake_checks import TOPIC, check_of, handle, prepared
from tests.support.fake_cluster import TOPOLOGY
from tests.support.fake_faults import Recorded
from tests.support.fake_lab import Play, of

LOST = "broker-1 ended"
STARTS = Ended(n=0, t=0.0, node="broker-1", exit_code=1)
FOR_MEMORY = Ended(n=0, t=0.0, node="broker-1", exit_code=137, out_of_memory=True)
STAYS_BROKEN = Overdue(n=0, t=30.0, due="node", what="broker-1 is up", within=60.0, late=0.0)


@pytest.mark.parametrize(
    ("outcome", "replaced", "event", "end"),
    [
        ("judged", "", None, "judged"),
        ("judged", LOST, None, "error"),
        ("judged", LOST, STARTS, "judged"),
        ("judged", LOST, STAYS_BROKEN, "judged"),
        ("premise lost", "", STARTS, "premise lost"),
        ("error", "", None, "error"),
        ("error", LOST, None, "error"),
        ("error", LOST, STARTS, "premise lost"),
        ("error", LOST, FOR_MEMORY, "error"),
        ("error", LOST, STAYS_BROKEN, "error"),
    ],
)
def test_the_kit_is_to_blame_unless_a_process_had_ended_by_itself(
    outcome: ExampleEnd, replaced: str, event: AnyEvent | None, end: ExampleEnd
) -> None:
    history = History(example=Example(example="e", check="c", column="4.3.1"), events=[event] if event else [])
    assert example_end(outcome, replaced, history) == end


def observed(number: int, calm: bool, situation: str) -> list[Observation]:
    one = Observation(
        requirement="KIP101-INV-05", case="kept", result="held", example="e", calm=calm, situation=situation
    )
    return [one] * number


def test_a_probe_of_a_property_goes_on_for_situations_but_not_where_it_disturbs_nothing() -> None:
    many = [one for number in range(30) for one in observed(1, False, f"{number}")]
    assert not _has_enough("KIP101-INV-05", "kept", observed(1000, False, "one"))
    assert not _has_enough("KIP101-INV-05", "kept", [*observed(1000, True, ""), *many[:29]])
    assert _has_enough("KIP101-INV-05", "kept", many)
    assert _has_enough("KIP101-INV-05", "kept", observed(30, True, ""))
    assert not _has_enough("KIP101-INV-05", "kept", observed(29, True, ""))


@pytest.fixture
def play(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    monkeypatch.setattr(lab_module, "HEALTHY_AGAIN_TIMEOUT", 0.05)
    return Play(tmp_path)


@pytest.mark.parametrize(("level", "runs"), [("4.3-IV0", True), ("4.4-IV0", False)])
def test_no_example_runs_on_a_release_that_does_not_know_the_level_of_its_topology(
    play: Play, level: str, runs: bool
) -> None:
    topology = msgspec.structs.replace(TOPOLOGY, features={"metadata.version": level})
    _, shard, _ = play(check_of(breaks, Rig(topology, prepared, handle)), [[]])
    assert bool(of(shard, ExampleLine)) is runs


# --- broken rows


def breaks(bench: Bench) -> Claims:
    """Breaks its row, while its fault is active."""
    bench.faults(TOPIC).inject(Recorded())
    yield held_if(False, bench.node("broker-1").list_offsets("topic", 0))


def breaks_for_good(bench: Bench) -> Claims:
    """Breaks its row; its fault stays."""
    bench.faults(TOPIC).inject(Recorded(heals=False))
    yield held_if(False, bench.node("broker-1").list_offsets("topic", 0))


def holds_for_good(bench: Bench) -> Claims:
    """Holds; its fault stays."""
    bench.faults(TOPIC).inject(Recorded(heals=False))
    yield held_if(True, bench.node("broker-1").list_offsets("topic", 0))


def breaks_and_goes_on(bench: Bench) -> Claims:
    """Breaks its row, then meets trouble."""
    yield from breaks_for_good(bench)
    raise KitError("no answer")


@pytest.mark.parametrize(
    ("body", "profile", "outcome"),
    [
        (breaks_for_good, "smoke", "judged"),
        (breaks_for_good, "nightly", "error"),
        (holds_for_good, "smoke", "error"),
        (breaks_and_goes_on, "smoke", "error"),
    ],
)
def test_a_cluster_that_the_broken_row_leaves_broken_is_no_error_of_the_kit(
    play: Play, body: Any, profile: Profile, outcome: str
) -> None:
    lab, shard, _ = play(check_of(body), [[], [], [], [], []], profile)
    first = of(shard, ExampleLine)[0]
    assert (first.outcome, lab.booted[0].closed, REPLACED_NOTE in first.detail) == (outcome, True, True)


@pytest.mark.parametrize(("profile", "examples"), [("smoke", 1), ("quick", 1), ("nightly", 4)])
@pytest.mark.parametrize("schedule", ["", "KIP101-SC-01"])
def test_a_broken_case_is_not_broken_again_and_again(
    play: Play, profile: Profile, examples: int, schedule: str
) -> None:
    check = msgspec.structs.replace(check_of(breaks, examples=4), schedule=schedule)
    _, shard, _ = play(check, [[]], profile)
    assert len(of(shard, ExampleLine)) >= examples
    assert (len(of(shard, ExampleLine)) == 1) is (examples == 1)


def test_a_broken_case_leaves_the_others_to_be_seen(play: Play) -> None:
    """A probe that names its own cases may show another one in its next example."""

    def names_its_case(bench: Bench) -> Claims:
        yield held_if(False, bench.node("broker-1").list_offsets("topic", 0), case="consumer")

    check = msgspec.structs.replace(check_of(names_its_case, examples=4), cases=("consumer", "follower"))
    _, shard, _ = play(check, [[]])
    assert len(of(shard, ExampleLine)) == 4
