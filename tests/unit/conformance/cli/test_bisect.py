"""`./kit bisect` over fake runs of columns: which versions run, what is reused, and what is printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from conformance.campaign.plan import BISECT, column_runs_for, new_plan, write_plan
from conformance.catalogue import shipped_rows
from conformance.cli.bisect import bisect
from conformance.cli.means import Means
from conformance.core.registry import checks_by_row, own_checks
from conformance.running.columns import wanted_columns
from conformance.running.settings import OPTIONS
from fixtures.errors import WrongUse
from fixtures.images import released_versions
from tests.support.fake_column_run import OTHER
from tests.support.sample_shards import ShardBuilder, all_checks

FAKE = (sys.executable, "-m", "tests.support.fake_column_run")
ROOT = Path(__file__).parents[4]


OWN = {"trunk": "4.5.0-SNAPSHOT", "candidate": "4.4.0-rc1"}
"""Builds of a user's own, by their folders' names, and their versions."""


UNPLACED = {"vendor": "4.3.1", "monday": "4.6.0-SNAPSHOT", "tuesday": "4.6.0-SNAPSHOT"}
"""Builds whose place among releases is not known."""


def called(*options: str) -> int:
    """The exit code of `./kit bisect` with these options. Raises WrongUse."""
    means = Means(
        prepare=lambda versions: None, pytest=FAKE, version_of=lambda column: (OWN | UNPLACED)[Path(column.name).name]
    )
    code: int = bisect.main(list(options), standalone_mode=False, obj=means)
    return code


class Search:
    """Fake runs of columns that violate or satisfy OTHER, or do not decide it, as `bad` and `nothing` say."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.out = folder / "out"
        self._monkeypatch = monkeypatch
        self._capture = capture

    def __call__(
        self, *options: str, bad: str = "", nothing: str = "", killed: str = "", refused: str = ""
    ) -> tuple[int, str]:
        columns = {
            version: ["other-satisfied"] for version in (*released_versions(), *map(self.home, OWN), "4.5.0-rc1")
        }
        given = (
            (bad, ["violated"]),
            (nothing, ["nothing"]),
            (killed, ["violated", "cut", "killed"]),
            (refused, ["refused"]),
        )
        for versions, words in given:
            columns |= dict.fromkeys(versions.split(), words)
        self._monkeypatch.setenv("FAKE_COLUMNS", json.dumps(columns))
        code = called(OTHER, "--conformance-out", str(self.out), *options)
        return code, self._capture.readouterr().out

    def home(self, name: str) -> str:
        """The path of a build, which is there."""
        folder = self.out.parent / name
        folder.mkdir(exist_ok=True)
        return str(folder)

    @property
    def ran(self) -> list[str]:
        file = self.out.parent / "calls.jsonl"
        return [json.loads(line)[0] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def search(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Search:
    for option in OPTIONS:
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.chdir(ROOT)
    return Search(tmp_path, monkeypatch, capsys)


def test_a_change_is_found_between_newest_patches_and_shown_with_both_sides(search: Search) -> None:
    code, output = search("--kafka-version", "3.7..3.8", bad="3.7.0 3.7.1 3.7.2 3.8.0")
    assert (code, sorted(search.ran[:2]), search.ran[2:]) == (0, ["3.7.2", "3.8.1"], ["3.8.0"])
    assert "first good: 3.8.1 (3.8.0 is bad)" in output
    assert "not run, since their neighbours agree (--all runs them): 3.7.0, 3.7.1" in output
    rows = [
        line.split()
        for line in output.splitlines()
        if (line.startswith(("3.7.", "3.8.")) and "✗" in line) or "✓" in line
    ]
    assert [row[:3] for row in rows] == [
        ["3.7.2", "✗", "violated"],
        ["3.8.0", "✗", "violated"],
        ["3.8.1", "✓", "satisfied"],
    ]
    assert rows[0][3:6] == ["5", "of", "5"]
    assert f"3.7.2: {search.out / 'evidence' / OTHER}" in output


def test_as_json_it_is_all_that_stands_on_stdout(search: Search) -> None:
    code, output = search("--kafka-version", "3.7..3.8", "--format", "json", bad="3.7.0 3.7.1 3.7.2 3.8.0")
    answer = json.loads(output)
    assert (code, answer["row"], list(answer["versions"])) == (0, OTHER, ["3.7.0", "3.7.1", "3.7.2", "3.8.0", "3.8.1"])
    assert answer["changes"] == [{"before": "3.8.0", "first": "3.8.1", "becomes": "good", "between": []}]
    assert answer["versions"]["3.7.1"] is None
    broken = answer["versions"]["3.8.0"]
    assert (broken["verdict"], broken["violated"]) == ("violated", 5)
    assert [(search.out / folder).is_dir() for folder in broken["evidence"]] == [True]


def test_options_that_pytest_refuses_run_nothing(search: Search) -> None:
    with pytest.raises(WrongUse, match="what is wrong with it"):
        search("--kafka-version", "3.8.1", refused="3.8.1")
    assert (search.ran, search.out.exists()) == ([], False)


def test_existing_columns_are_not_run_again_unless_they_are_undecided(search: Search) -> None:
    for version in ("3.7.2", "3.8.0"):
        shard = ShardBuilder(f"r1-gw0-{version}", version, run="r1", checks=all_checks())
        if version == "3.7.2":
            shard.observe(OTHER, shipped_rows()[OTHER].cases[0].id, "violated").end_check(OTHER)
        shard.finish().write(search.out / "shards")
    _, output = search("--kafka-version", "3.7.2..3.8")
    assert sorted(search.ran) == ["3.8.0", "3.8.1"]
    assert "first good: 3.8.0 (3.7.2 is bad)" in output
    assert "reused" in output


def test_an_undecided_version_is_stepped_around_and_shown(search: Search) -> None:
    _, output = search("--kafka-version", "3.6.2..3.7.2", bad="3.6.2", nothing="3.7.0 3.7.1")
    assert sorted(search.ran) == ["3.6.2", "3.7.0", "3.7.1", "3.7.2"]
    assert "first good: 3.7.2 (3.6.2 is bad; undecided between them: 3.7.0, 3.7.1)" in output


def test_with_all_every_version_runs_and_a_change_back_is_shown_too(search: Search) -> None:
    _, output = search("--kafka-version", "3.7", "--all", bad="3.7.1")
    assert sorted(search.ran) == ["3.7.0", "3.7.1", "3.7.2"]
    assert "first bad: 3.7.1 (3.7.0 is good)\nfirst good: 3.7.2 (3.7.1 is bad)" in output
    assert "not run" not in output


def test_without_a_change_that_is_shown(search: Search) -> None:
    code, output = search("--kafka-version", "3.8")
    assert (code, "no change: good from 3.8.1 to 3.8.1, on 1 versions" in output) == (0, True)


def test_without_a_violation_it_names_the_checks_that_see_the_row_on_their_way(search: Search) -> None:
    others = len(checks_by_row()[OTHER]) - len(own_checks()[OTHER])
    line = f"its own checks ran; {others} others see the row on their way: --all-that-see-it"
    assert (line in search("--kafka-version", "3.7..3.8")[1]) == (others > 0)
    assert "on their way" not in search("--kafka-version", "3.7..3.8", "--all-that-see-it")[1]
    assert "on their way" not in search("--kafka-version", "3.9", bad="3.9.0 3.9.1 3.9.2")[1]


def test_when_nothing_is_decided_the_code_is_3(search: Search) -> None:
    code, output = search("--kafka-version", "3.8", nothing="3.8.1")
    assert (code, "no version decided whether the row holds" in output) == (3, True)


def test_a_column_that_is_killed_is_shown_and_moved_aside(search: Search) -> None:
    code, output = search("--kafka-version", "3.8.1", killed="3.8.1")
    assert (code, list(search.out.glob("shards/*"))) == (3, [])
    assert "its pytest ended with -9" in output
    assert len(list(search.out.glob("earlier/*/shards/*.jsonl"))) == 1


def test_unfinished_columns_of_a_killed_search_do_not_count(search: Search) -> None:
    plan = new_plan(column_runs_for(wanted_columns(["3.8.1"])), [])
    plan.columns[0].run = "261121-000000-0001"
    write_plan(search.out, plan, BISECT)
    half = ShardBuilder("261121-000000-0001-gw0-3.8.1", "3.8.1", run="261121-000000-0001", checks=all_checks())
    half.observe(OTHER, shipped_rows()[OTHER].cases[0].id, "violated").write(search.out / "shards")
    _, output = search("--kafka-version", "3.8.1")
    assert search.ran == ["3.8.1"]
    assert "✓" in output


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("KIP320-FETCH-99", "Did you mean KIP320-FETCH-09"),
        (
            next(row.id for row in shipped_rows() if row.id not in checks_by_row()),
            "has no check for this row",
        ),
    ],
)
def test_a_row_without_possible_verdict_is_refused(row: str, message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        called(row)


def test_builds_of_ones_own_stand_in_the_order_of_their_versions(search: Search) -> None:
    """A candidate of 4.4.0 between 4.3.1 and 4.4.0, and trunk after it."""
    trunk, candidate = map(search.home, OWN)
    homes = ("--kafka-home", trunk, "--kafka-home", candidate)
    code, output = search("--kafka-version", "4.3.1..4.4.0", *homes, bad=f"{candidate} 4.4.0")
    assert (code, sorted(search.ran)) == (0, sorted([candidate, trunk, "4.3.1", "4.4.0"]))
    assert f"first bad: {candidate} (4.3.1 is good)\nfirst good: {trunk} (4.4.0 is bad)" in output


def test_a_trunk_with_a_label_has_its_place(search: Search) -> None:
    trunk = search.home("trunk")
    label = ("--label", "nightly")
    _, output = search("--kafka-version", "4.3.1..4.4.0", "--kafka-home", trunk, *label, bad=trunk)
    assert "first bad: nightly (4.4.0 is good)" in output


def test_builds_without_a_known_place_are_left_out_with_the_reason(search: Search) -> None:
    homes = [word for name in UNPLACED for word in ("--kafka-home", search.home(name))]
    code, output = search("--kafka-version", "4.3.1..4.4.0", *homes, bad="4.4.0")
    assert (code, sorted(search.ran)) == (0, ["4.3.1", "4.4.0"])
    assert "vendor has no place in the order of versions: it is a build of its own, made from 4.3.1" in output
    assert output.count("which is older is not known. It is left out") == 2
    assert "first bad: 4.4.0 (4.3.1 is good)" in output


def test_a_release_candidate_ends_a_range(search: Search) -> None:
    _, output = search("--kafka-version", "4.4..4.5.0-rc1", bad="4.5.0-rc1")
    assert sorted(search.ran) == ["4.4.0", "4.5.0-rc1"]
    assert "first bad: 4.5.0-rc1 (4.4.0 is good)" in output
