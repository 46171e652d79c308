"""The inputs of a violated probe are made smaller before they are told."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.catalogue.deviations import Deviation
from conformance.core.bench import Bench
from conformance.core.checks import Check, Claims, Rig, held_if
from conformance.core.profiles import Profile
from conformance.running.evidence import folder
from conformance.running.planning.budget import INPUT_SHRINKING
from conformance.running.probe.smaller_inputs import find_smallest, simplest_inputs
from conformance.running.settings import Settings
from history.shards import CheckLine, ObservationLine, ReplayLine
from tests.support.fake_cluster import TOPOLOGY
from tests.support.fake_lab import FakeLab, Play, of

ROW = "KIP320-FETCH-02"
STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "offset": st.integers(2, 1000),
    "role": st.sampled_from(["leader", "follower", "observer"]),
}


def test_the_least_is_what_hypothesis_shrinks_to() -> None:
    assert simplest_inputs(STRATEGIES) == {"offset": 2, "role": "leader"}


@given(bound=st.integers(2, 1000), offset=st.integers(2, 1000), needs_role=st.booleans())
def test_numbers_go_towards_the_least_and_values_towards_the_first(bound: int, offset: int, needs_role: bool) -> None:
    def shows(inputs: dict[str, Any]) -> bool:
        return bool(inputs["offset"] >= bound and (not needs_role or inputs["role"] == "observer"))

    before = {"offset": max(bound, offset), "role": "observer"}
    found = find_smallest(before, {"offset": 2, "role": "leader"}, shows, lambda: True)
    assert found == {"offset": bound, "role": "observer" if needs_role else "leader"}


def test_without_time_they_stay_as_they_are() -> None:
    inputs = {"offset": 7}
    assert find_smallest(inputs, {"offset": 2}, lambda _: True, lambda: False) == inputs


class Data(msgspec.Struct):
    pass


def prepared(_: Bench) -> Data:
    return Data()


def handle(bench: Bench, _: Data) -> Bench:
    return bench


RIG: Rig[Data, Bench] = Rig(TOPOLOGY, prepared, handle)


def breaks_from_40_on(bench: Bench, offset: int, role: str) -> Claims:
    """Holds for small offsets."""
    yield held_if(offset < 40, bench.node("broker-1").list_offsets("topic", 0))


def probe() -> Check:
    return Check(own_rows=(ROW,), rig=RIG, cases=("consumer",), strategies=STRATEGIES, body=breaks_from_40_on)


@pytest.fixture
def play(tmp_path: Path, state: Path) -> Play:
    return Play(tmp_path)


def test_the_evidence_of_the_smallest_inputs_is_reported(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INPUT_SHRINKING, "smoke", 60.0)
    lab, shard, _ = play(probe(), [[]])
    [line] = of(shard, ReplayLine)
    assert (line.requirement, line.seen, line.tries) == (ROW, 5, 5)
    folder = lab.settings.out_dir / line.evidence
    assert msgspec.json.decode((folder / "schedule.json").read_bytes())["inputs"] == {"offset": 40, "role": "leader"}
    report = (folder / "report.md").read_text()
    assert 'Seen again: 5 of 5 replays. Smallest inputs: `{"offset":40,"role":"leader"}`.' in report
    first = next(o.evidence for o in of(shard, ObservationLine) if o.evidence)
    assert f"Smaller inputs are in `{line.evidence}`." in (lab.settings.out_dir / first / "report.md").read_text()


def test_without_time_the_first_evidence_stays(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INPUT_SHRINKING, "smoke", 0.0)
    lab, shard, _ = play(probe(), [[]])
    assert of(shard, ReplayLine) == []
    assert any(o.evidence and (lab.settings.out_dir / o.evidence).is_dir() for o in of(shard, ObservationLine))


@pytest.mark.parametrize(("seconds", "replays"), [(0.1, 0), (60.0, 1)])
def test_an_example_that_takes_longer_than_the_time_is_not_run_again(
    play: Play, monkeypatch: pytest.MonkeyPatch, seconds: float, replays: int
) -> None:
    def breaks_slowly(bench: Bench, offset: int, role: str) -> Claims:
        began = time.monotonic()
        bench.eventually(lambda: time.monotonic() > began + 0.2, "a while")
        yield held_if(False, bench.node("broker-1").list_offsets("topic", 0))

    monkeypatch.setitem(INPUT_SHRINKING, "smoke", seconds)
    _, shard, _ = play(msgspec.structs.replace(probe(), body=breaks_slowly), [[]])
    assert len(of(shard, ReplayLine)) == replays


@pytest.mark.parametrize(("profile", "rows", "replays"), [("quick", [], 0), ("nightly", [], 1), ("quick", [ROW], 1)])
def test_a_known_deviation_is_shrunk_in_nightly_and_where_its_row_was_selected(
    play: Play, monkeypatch: pytest.MonkeyPatch, profile: Profile, rows: list[str], replays: int
) -> None:
    known = Deviation(requirement=ROW, versions=("4.3..",), reason="known", cases=("consumer",))
    monkeypatch.setattr(FakeLab, "known_deviations", [known])
    monkeypatch.setattr(Settings, "requirements", rows)
    _, shard, _ = play(probe(), [[]], profile)
    assert len(of(shard, ReplayLine)) == replays


def test_a_violation_is_filed_though_its_evidence_cannot_be_written(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_report(*_: object) -> str:
        raise KeyError("member_id")

    monkeypatch.setattr(folder, "report_text", broken_report)
    _, shard, _ = play(probe(), [[]])
    results = [(line.requirement, line.result, line.evidence) for line in of(shard, ObservationLine)]
    assert (ROW, "violated", "") in results
    [line] = of(shard, CheckLine)
    assert (line.outcome, "member_id" in line.detail) == ("error", True)
