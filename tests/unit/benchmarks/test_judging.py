"""The benchmark of judging: made up histories are told as recorded ones are, and honest."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.histories import history
from benchmarks.judging import generated_histories, measure, stored_histories, table
from conformance.cli.app import main
from conformance.judging.judge import judge_all
from conformance.judging.judges import JUDGES
from history.events import End
from history.store import HistoryWriter


def silent(_: str) -> None:
    pass


def test_made_up_histories_are_honest_and_give_most_judges_something_to_judge() -> None:
    found = [o for events in (3_000, 20_000) for o in judge_all(JUDGES, history("h", events, 0))]
    assert {o.requirement for o in found if o.result != "held"} == set()
    assert len({o.requirement for o in found}) >= 12


def test_they_have_as_many_events_as_asked_for() -> None:
    events = [len(one.events) for one in generated_histories(10_000, 2_000)]
    assert len(events) == 5
    assert all(2_000 <= count < 2_400 for count in events)


def test_the_same_seed_gives_the_same_history() -> None:
    assert history("h", 500, 7) == history("h", 500, 7) != history("h", 500, 8)


def test_the_table_tells_total_and_shares(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["benchmarks", "judging", "--events", "2000", "--example-events", "1000"]) == 0
    out = capsys.readouterr().out
    assert "s a million" in out.splitlines()[0]
    assert "| KIP101-INV-01 one_record_per_offset_and_epoch |" in out


def test_stored_histories_are_judged_again_and_again(tmp_path: Path) -> None:
    output = history("h", 400, 1)
    with HistoryWriter(tmp_path / "histories" / "gw0.jsonl.zst") as writer:
        for line in (output.example, *output.events, End(example="h", outcome="judged")):
            writer.write(line)
    measured = measure(stored_histories(tmp_path, 1_000), silent)
    assert (measured.examples, measured.events) == (3, 3 * len(output.events))
    assert "violations" in table(measured)


def test_without_histories_it_says_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["benchmarks", "judging", "--out", str(tmp_path)]) == 2
    assert "give the --conformance-out of a run" in capsys.readouterr().err


def test_another_checkout_judges_the_same_histories_in_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with HistoryWriter(tmp_path / "w.jsonl.zst") as writer:
        one = history("h", 400, 1)
        for line in (one.example, *one.events, End(example="h", outcome="judged")):
            writer.write(line)
    here = str(Path(__file__).parents[3])
    asked = ["benchmarks", "judging", "--out", str(tmp_path), "--rounds", "1", "--beside"]
    assert main([*asked, here]) == 0
    ours, theirs = capsys.readouterr().out.splitlines()[2:4]
    assert ours.split("|")[-2] == theirs.split("|")[-2]
    assert main([*asked, str(tmp_path)]) == 2
    assert "cannot be run" in capsys.readouterr().err


def test_beside_needs_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["benchmarks", "judging", "--beside", str(tmp_path)]) == 2
    assert "--beside needs --conformance-out" in capsys.readouterr().err
