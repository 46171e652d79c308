"""`./kit rejudge`: the same bytes again, and by name what is judged differently now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from conformance.cli import rejudge
from conformance.core import checks
from conformance.core.checks import Check, Claims, held_if, premise
from conformance.core.evaluate import judge_on_column
from conformance.judging.judge import Finding, judge
from conformance.judging.judges import JUDGES
from conformance.judging.pooling import judge_shards
from conformance.running.recording.shard_writer import ShardWriter
from history.events import History
from history.observations import Observation
from history.schema import SCHEMA
from history.shards import read_shards
from protocol.errors import KitError
from tests.support.fake_cluster import FakeCluster
from tests.support.played_checks import (
    COLUMN,
    FACTS,
    ROW,
    Log,
    Play,
    check_of,
    grows,
    own,
)


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    made = Play(tmp_path)
    yield made
    made.writer.close()


def filed(play: Play, check: Check, *examples: FakeCluster) -> Path:
    """A run's output directory with the check's examples, as the kit leaves it."""
    shard = ShardWriter(
        play.out / "shards", "s1", COLUMN, schema=SCHEMA, kit="0", run="r1", worker="gw0", topology="fake",
        profile="smoke", seed=1, rows={}, checks={},
    )  # fmt: skip
    for cluster in examples:
        outcome, history = play.live(check, cluster)
        for observation in [*outcome.observations, *judge_on_column(FACTS, JUDGES, history).observations]:
            shard.observation(observation, check=check.id)
    shard.close()
    return play.out


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Check:
    """`grows` as a check of the kit."""
    check = check_of(grows)
    checks.all_checks()
    monkeypatch.setitem(checks.REGISTRY, check.id, check)
    return check


def test_rejudging_gives_the_same_bytes(play: Play, known: Check, capsys: pytest.CaptureFixture[str]) -> None:
    out = filed(play, known, FakeCluster(5, 7, 7), FakeCluster(5, 7, 6), FakeCluster(5, -1), FakeCluster(KitError("x")))
    assert rejudge.main(["--out", str(out)]) == 0
    assert "byte for byte" in capsys.readouterr().out
    first = (out / "rejudged" / "s1.jsonl").read_bytes()
    probes = own(msgspec.json.decode(line, type=Observation) for line in first.splitlines())
    assert [one.result for one in probes] == ["held", "violated"]
    assert rejudge.main(["--out", str(out)]) == 0
    assert (out / "rejudged" / "s1.jsonl").read_bytes() == first


def test_whole_shards_are_written_for_the_merge(play: Play, known: Check) -> None:
    out, new = filed(play, known, FakeCluster(5, 7, 7), FakeCluster(5, 7, 6)), play.out / "new"
    assert rejudge.main(["--out", str(out), "--shards", str(new)]) == 0
    found = {cell.requirement: cell for cell in judge_shards(read_shards(new))}
    assert (found[ROW].verdict, found[ROW].observations) == ("violated", 2)


def test_shards_are_not_written_over_others(play: Play, known: Check, capsys: pytest.CaptureFixture[str]) -> None:
    out = filed(play, known, FakeCluster(5, 7, 7))
    assert rejudge.main(["--out", str(out), "--shards", str(out / "shards")]) == 2
    assert f"--shards {out / 'shards'} is not empty" in capsys.readouterr().err
    assert rejudge.main(["--out", str(out), "--shards", str(out / "new"), "--spark"]) == 2
    assert "goes without --spark" in capsys.readouterr().err


def test_a_judge_that_now_says_something_else_is_named(
    play: Play, known: Check, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = filed(play, known, FakeCluster(5, 7, 7), FakeCluster(5, 7, 9))

    def grows_by_one_at_most(log: Log) -> Claims:
        """Stricter than it was."""
        before = log.end()
        yield premise(before.offset >= 0, "the log has an end")
        after = log.end()
        yield held_if(before.offset <= after.offset <= before.offset + 1, before, after)

    stricter = msgspec.structs.replace(known, body=grows_by_one_at_most)
    monkeypatch.setitem(checks.REGISTRY, known.id, stricter)
    assert rejudge.main(["--out", str(out)]) == 1
    assert capsys.readouterr().out.splitlines() == [f"e-1 ({known.id}): judged differently now"]
    assert rejudge.main(["--out", str(out), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out) == [f"e-1 ({known.id}): judged differently now"]


def test_an_observation_without_its_history_is_named(
    play: Play, known: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    out = filed(play, known, FakeCluster(5, 7, 7))
    play.writer.path.unlink()
    assert rejudge.main(["--out", str(out)]) == 1
    assert "e-0: its observations have no history" in capsys.readouterr().out


def test_an_example_that_was_cut_short_is_not_judged(play: Play, known: Check) -> None:
    _, history = play.live(known, FakeCluster(5, 7, 6))
    assert [o.result for o in own(rejudge.rejudge(history, COLUMN).observations)] == ["violated"]
    history.end = None
    assert rejudge.rejudge(history, COLUMN).observations == []


def test_a_folder_that_is_no_output_of_a_run_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rejudge.main(["--out", str(tmp_path)]) == 2
    assert f"{tmp_path} has no shards/" in capsys.readouterr().err


@pytest.mark.parametrize("text", [None, "", "not a line of a shard\n"])
def test_a_folder_without_a_readable_shard_is_wrong_use(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shards").mkdir()
    if text is not None:
        (tmp_path / "shards" / "one.jsonl").write_text(text)
    assert rejudge.main(["--out", str(tmp_path)]) == 2
    assert "has no shard that can be read" in capsys.readouterr().err


def test_what_applies_is_up_to_the_cluster_of_the_example(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard's header tells what the first of a worker's clusters declared, which may have had no broker."""

    @judge("KIP101-EPOCH-02")
    def always(_: History) -> Iterator[Finding]:
        yield Finding(True, "moved", ())

    check = check_of(grows)
    monkeypatch.setitem(checks.REGISTRY, check.id, check)
    monkeypatch.setattr(rejudge, "JUDGES", (always,))
    _, history = play.live(check, FakeCluster(5, 7, 7))
    controllers = msgspec.structs.replace(COLUMN, ranges={"controller.Fetch": 17})
    without = msgspec.structs.replace(history, example=msgspec.structs.replace(history.example, ranges={}))
    again, of_brokers = (rejudge.rejudge(one, controllers).observations for one in (history, without))
    assert {o.requirement for o in again} == {ROW, "KIP101-EPOCH-02"}
    assert {o.requirement for o in of_brokers} == {ROW}
