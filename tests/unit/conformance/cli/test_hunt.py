"""`./kit hunt` over fake runs of pytest: the order of rounds, findings and their pages, going on, interruption, wrong use."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from conformance.campaign.hunt.state import Hunt, read_hunt
from conformance.cli.hunt import hunt
from conformance.cli.means import Means
from conformance.running.machine.beginning import Beginning, read_beginning
from conformance.running.settings import OPTIONS
from fixtures.errors import WrongUse
from fixtures.runs import Run, new_id
from fixtures.signals import interruptible
from history.schema import SCHEMA
from tests.support.fake_hunt_run import KNOWN_ROW, ROW

FAKE = (sys.executable, "-m", "tests.support.fake_hunt_run")
ROOT = Path(__file__).parents[4]
SECONDS = 180.0
"""Of every round and replay, by the clock of these tests."""


class Kit:
    """Called with the options of `./kit hunt`; returns its exit code. `rounds` of them fit into the hours."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out = folder / "out" / "hunt"
        self._calls = folder / "calls.jsonl"
        self._monkeypatch = monkeypatch
        self.at_hand: list[str] = []

    def __call__(
        self, *options: str, rounds: int = 1, versions: Sequence[str] = ("3.9.2",), hours: str = "", **columns: str
    ) -> int:
        """`columns` are the words of the fake, by column, such as `v3_9_2`."""
        named = {name.removeprefix("v").replace("_", "."): words.split() for name, words in columns.items()}
        self._monkeypatch.setenv("FAKE_HUNT", json.dumps(named))
        self._monkeypatch.setenv("FAKE_CALLS", str(self._calls))
        selected = [text for version in versions for text in ("--kafka-version", version)]
        given = ["--hours", hours or str(rounds * SECONDS / 3600), "--out", str(self.out), *selected, *options]
        means = Means(
            prepare=lambda versions: None,
            pytest=FAKE,
            clock=self._clock,
            at_hand=lambda version: version in self.at_hand,
        )
        with interruptible():
            code: int = hunt.main(given, standalone_mode=False, obj=means)
        return code

    def _clock(self) -> float:
        return SECONDS * len(self.calls)

    @property
    def calls(self) -> list[tuple[str, list[str]]]:
        """The column and the options of each pytest, in the order in which they began."""
        lines = self._calls.read_text().splitlines() if self._calls.exists() else []
        return [(column, options) for column, options in map(json.loads, lines)]

    @property
    def order(self) -> list[str]:
        """`3.9.2` for a round, `replay 3.9.2` for a replay."""
        return [f"{'replay ' if '--replay' in options else ''}{column}" for column, options in self.calls]

    @property
    def state(self) -> Hunt:
        found = read_hunt(self.out)
        assert found is not None
        return found

    def beginning(self, number: int) -> Beginning:
        return read_beginning(self.out / f"rounds/{number:03}/beginning.json")

    def report(self) -> str:
        [path] = self.out.glob("findings/*/report.md")
        return path.read_text()


@pytest.fixture
def kit(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    for option in OPTIONS:
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.chdir(ROOT)
    return Kit(tmp_path, monkeypatch)


# --- rounds


def test_rounds_go_over_the_versions_in_turn_until_the_hours_are_over(kit: Kit) -> None:
    assert kit(rounds=5, versions=["3.9.2", "4.3.1"]) == 0
    assert kit.order == ["3.9.2", "4.3.1", "3.9.2", "4.3.1", "3.9.2"]
    assert [one.number for one in kit.state.rounds] == [1, 2, 3, 4, 5]
    assert kit.state.seconds == 5 * SECONDS


def test_each_round_has_a_seed_and_a_folder_of_its_own_and_runs_machines_only(kit: Kit) -> None:
    kit("--machine", "log", "--feature", "transaction.version=1", rounds=3)
    options = [given for _, given in kit.calls]
    seeds = {given[given.index("--conformance-seed") + 1] for given in options}
    folders = [given[given.index("--conformance-out") + 1] for given in options]
    assert (len(seeds), folders) == (3, [str(kit.out / f"rounds/{n:03}") for n in (1, 2, 3)])
    for given in options:
        assert given[given.index("--conformance-machines") + 1] == "log"
        assert "transaction.version=1" in given
        assert float(given[given.index("--conformance-minutes") + 1]) <= 6


def test_the_opening_is_played_in_the_first_round_of_a_version(kit: Kit) -> None:
    kit(rounds=2)
    kit(rounds=2, versions=["3.9.2", "4.3.1"])
    assert [(one.column, one.opening) for one in kit.state.rounds] == [
        ("3.9.2", True),
        ("3.9.2", False),
        ("4.3.1", True),
        ("3.9.2", False),
    ]
    assert [kit.beginning(n).opening for n in (1, 2, 3, 4)] == [True, False, True, False]


def test_a_first_round_without_an_example_leaves_the_opening_to_the_next(kit: Kit) -> None:
    assert kit(rounds=2, v3_9_2="empty") == 3
    assert [one.opening for one in kit.state.rounds] == [True, True]


def test_after_three_rounds_without_an_example_it_gives_up(kit: Kit) -> None:
    assert kit(rounds=9, v3_9_2="empty") == 3
    assert len(kit.calls) == 3


def test_a_version_without_a_judged_example_is_trouble(kit: Kit) -> None:
    assert kit(rounds=2, versions=["3.9.2", "4.3.1"], v4_3_1="empty") == 3


# --- findings


def test_violations_with_the_same_shape_are_one_finding_with_many_sightings(kit: Kit) -> None:
    assert kit(rounds=7, versions=["3.9.2", "4.3.1"], v3_9_2="broken 3", v4_3_1="broken 5") == 1
    [finding] = kit.state.findings
    assert (finding.row, finding.label) == (ROW, "fence-leak")
    assert finding.shape == ("disturb #1 kill leader", "produce #1")
    assert [(one.column, one.round) for one in finding.sightings][:3] == [("3.9.2", 1), ("4.3.1", 2), ("3.9.2", 3)]
    assert {one.seed for one in finding.sightings} == {one.seed for one in kit.state.rounds}


def test_a_new_finding_is_replayed_on_a_fresh_cluster_at_once(kit: Kit) -> None:
    kit(rounds=3, v3_9_2="broken 3")
    assert kit.order == ["3.9.2", "replay 3.9.2", "3.9.2"]
    assert "| 3.9.2 | round 1 (seed" in kit.report()
    assert "| 4 of 5 | 3 of 5 replays |" in kit.report()


def test_the_releases_at_hand_are_searched_for_it(kit: Kit) -> None:
    kit.at_hand = ["3.7.2", "4.3.1"]
    kit(rounds=4, v3_9_2="broken 5", v4_3_1="4")
    assert {column for column in kit.order if "replay" in column} == {"replay 3.7.2", "replay 3.9.2", "replay 4.3.1"}
    assert "- first bad: 3.9.2 (3.7.2 is good)" in kit.report()


def test_the_search_takes_a_share_of_the_time_only(kit: Kit) -> None:
    kit.at_hand = ["3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "4.0.2", "4.1.2", "4.2.2", "4.3.1"]
    kit(rounds=8, v3_9_2="broken 5")
    assert kit.order[:2] == ["3.9.2", "replay 3.9.2"]
    assert kit.order.count("3.9.2") >= 2, "it went on hunting"
    assert len([column for column in kit.order if "replay" in column]) < 1 + len(kit.at_hand)


def test_a_finding_has_a_folder_that_stands_alone(kit: Kit) -> None:
    kit(rounds=2, v3_9_2="broken 5")
    [folder] = (kit.out / "findings").iterdir()
    assert {path.name for path in folder.iterdir()} == {"report.md", "schedule.json", "finding.json", "evidence"}
    assert (folder / "evidence" / "report.md").read_text() == "# It was seen\n"
    assert (kit.out / "failing" / f"{folder.name}.json").read_bytes() == (folder / "schedule.json").read_bytes()
    assert f"--replay {folder / 'schedule.json'}" in kit.report()
    assert json.loads((folder / "finding.json").read_bytes())["row"] == ROW


def test_the_findings_as_json_name_their_folders(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    assert kit("--format", "json", rounds=2, v3_9_2="broken 5") == 1
    [told] = json.loads((printed := capsys.readouterr()).out)
    assert (told["row"], told["folder"]) == (ROW, str(next((kit.out / "findings").iterdir())))
    assert "round 1" in printed.err


def test_a_known_deviation_is_marked_and_does_not_count(kit: Kit) -> None:
    assert kit(rounds=2, v3_9_2="known 5") == 0
    [finding] = kit.state.findings
    assert (finding.row, finding.is_known) == (KNOWN_ROW, True)
    assert "\n**Known**: Since KAFKA-14704 a follower truncates" in kit.report()
    index = (kit.out / "README.md").read_text()
    assert "## Findings that are not known\n\nNone." in index
    assert KNOWN_ROW in index.partition("## Known findings")[2]


def test_a_known_deviation_of_ones_own_is_marked_too(kit: Kit, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    entry = f'requirement = "{ROW}"\nversions = ["3.9..3.9"]\ncases = ["consumer"]\nreason = "Ours."\n'
    file.write_text(f"[[deviation]]\n{entry}")
    assert kit("--deviations", str(file), v3_9_2="broken 5") == 0
    assert all(one.known == "Ours." for one in kit.state.findings[0].sightings)
    assert all(str(file) in options for _, options in kit.calls)


def test_an_unshrunk_schedule_is_replaced_by_the_first_shrunk_one(kit: Kit) -> None:
    kit(rounds=2, v3_9_2="unshrunk 5")
    [name] = [one.name for one in kit.state.findings]
    assert "could not be shrunk" in kit.report()
    kit(rounds=2, v3_9_2="broken 4")
    [finding] = kit.state.findings
    assert (finding.name, len(finding.sightings), finding.source.round) == (name, 2, 2)
    assert "## The shrunk schedule\n\n1. disturb, on strict-0, fault (kill, role leader, pick" in kit.report()
    assert finding.replays["3.9.2"].seen == 4, "replayed again, since it is another schedule"


# --- what failed is tried first


def test_what_failed_is_tried_first_on_each_other_version_and_again_in_the_next_night(kit: Kit) -> None:
    kit(rounds=5, versions=["3.9.2", "4.3.1"], v3_9_2="broken 5")
    [finding] = kit.state.findings
    assert [(one.column, one.schedules) for one in kit.state.rounds] == [
        ("3.9.2", []),
        ("4.3.1", [finding.name]),
        ("3.9.2", []),
    ]
    assert [schedule.requirement for schedule in kit.beginning(2).schedules] == [ROW]
    kit(rounds=2)
    assert [one.schedules for one in kit.state.rounds[3:]] == [[finding.name], []]


def test_a_schedule_of_another_hunt_is_tried_and_a_broken_file_is_named(
    kit: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    kit(rounds=2, v3_9_2="broken 5")
    [path] = (kit.out / "failing").iterdir()
    recorded = path.read_bytes()
    other = kit.out.with_name("other") / "failing"
    other.mkdir(parents=True)
    (other / "mine.json").write_bytes(recorded)
    (other / "none.json").write_text(f'{{"schema": {SCHEMA}}}')
    (other / "strange.json").write_bytes(recorded.replace(b'"produce"', b'"reproduce"'))
    kit.out = other.parent
    kit(rounds=1)
    assert kit.state.rounds[0].schedules == ["mine"]
    output = capsys.readouterr().out
    assert f"{other / 'none.json'} is not played" in output
    assert f"{other / 'strange.json'} is not played" in output


def test_a_violation_that_is_seen_again_and_again_is_not_investigated_again(kit: Kit) -> None:
    kit(rounds=6, v3_9_2="broken 5")
    known = [[breach.requirement for breach in kit.beginning(n).known] for n in range(1, 6)]
    assert known == [[], [], [], [ROW], [ROW]]


# --- going on, interruption


def test_an_interruption_keeps_what_was_recorded_and_the_next_command_goes_on(kit: Kit) -> None:
    assert kit(rounds=9, v3_9_2="broken interrupts") == 130
    [one] = kit.state.rounds
    assert (one.ended, one.code, one.totals.count) == (True, 130, 2)
    assert (len(kit.state.findings), kit.order) == (1, ["3.9.2"])
    assert kit(rounds=2, v3_9_2="broken 5") == 1
    assert kit.order == ["3.9.2", "replay 3.9.2", "3.9.2"]
    assert [one.night for one in kit.state.rounds] == [0, 1]
    assert [night.hours for night in kit.state.nights] == [9 * SECONDS / 3600, 2 * SECONDS / 3600]


def test_an_interrupted_replay_is_done_by_the_next_command(kit: Kit) -> None:
    assert kit(rounds=9, v3_9_2="broken interrupts-replays 5") == 130
    assert kit.state.findings[0].replays == {}
    kit(rounds=1, v3_9_2="5")
    assert kit.state.findings[0].replays["3.9.2"].seen == 5


def test_a_round_that_was_killed_counts_with_what_it_recorded(kit: Kit) -> None:
    assert kit(rounds=2, v3_9_2="broken killed") == 1
    [one] = kit.state.rounds
    assert (one.code, one.totals.count, len(kit.state.findings)) == (-9, 2, 1)


def test_the_round_of_a_killed_hunt_is_taken_in_by_the_next_command(kit: Kit) -> None:
    kit(rounds=1, v3_9_2="broken")
    hunted = kit.state
    hunted.findings, hunted.rounds[0].ended = [], False
    (kit.out / "hunt.json").write_bytes(msgspec.json.encode(hunted))
    kit(rounds=1, v3_9_2="5")
    assert [one.ended for one in kit.state.rounds] == [True]
    assert kit.order == ["3.9.2", "replay 3.9.2"]


def test_a_folder_serves_one_hunt_at_a_time(kit: Kit) -> None:
    kit(rounds=1)
    plan = kit.out / "rounds/001/plan.json"
    hunted = kit.state
    hunted.rounds[0].ended = False
    (kit.out / "hunt.json").write_bytes(msgspec.json.encode(hunted))
    with Run.begin(new_id()) as run:
        written = json.loads(plan.read_bytes())
        written["columns"][0] |= {"run": run.id, "code": None}
        plan.write_text(json.dumps(written))
        with pytest.raises(WrongUse, match=f"run {run.id}"):
            kit(rounds=1)


# --- totals


def test_the_index_has_the_totals(kit: Kit) -> None:
    kit(rounds=3, versions=["3.9.2", "4.3.1"])
    index = (kit.out / "README.md").read_text()
    assert "3 rounds in 1 runs of `./kit hunt`, 9:00 minutes." in index
    assert "| 3.9.2 | 4 | 2 | 16 | 8 witnessed of 12 injected | 2 | 2 |" in index
    assert "| 4.3.1 | 2 | 1 | 8 | 4 witnessed of 6 injected | 1 | 1 |" in index
    assert "- kill: 12 witnessed of 18" in index
    assert f"- {ROW} c: a reason: 6" in index
    assert "- KitError: no listener: 3" in index


# --- wrong use


WRONG = [
    (["--hours", "soon"], "--hours 'soon'", "from 0.05 to 1000"),
    (["--hours", "0"], "--hours '0'", "such as 8 or 0.5"),
    (["--hours", "nan"], "--hours 'nan'", "such as 8 or 0.5"),
    (["--machine", "clock"], "--machine 'clock'", "all, groups, log, producers, topics"),
    (["--conformance-seed", "7"], "--conformance-seed", "chooses this for each of its rounds"),
    (["--replay=x.json"], "--replay=x.json", "./kit pytest"),
    (["--kafka-version", "3.7.9"], "3.7.9", "3.7.0, 3.7.1, 3.7.2"),
    (["--kafka-home", "build/kafka"], "'build/kafka'", "Give an unpacked distribution"),
]


@pytest.mark.parametrize(
    ("options", "value", "way_out"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_wrong_use_is_refused_with_the_value_and_the_way_out(
    kit: Kit, options: list[str], value: str, way_out: str
) -> None:
    with pytest.raises(WrongUse) as refused:
        kit(*options)
    assert value in str(refused.value)
    assert way_out in str(refused.value)
    assert kit.calls == []


def test_options_that_pytest_refuses_are_refused(kit: Kit) -> None:
    with pytest.raises(WrongUse, match="no such option"):
        kit("--conformance-profil", "quick", v3_9_2="refused")


def test_a_folder_with_something_else_is_refused(kit: Kit) -> None:
    kit.out.mkdir(parents=True)
    (kit.out / "hunt.json").write_text("[]")
    with pytest.raises(WrongUse, match="move it away, or give another --out"):
        kit()
