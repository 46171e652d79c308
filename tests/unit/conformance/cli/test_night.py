"""Nights by their three commands, on columns that a fake pytest ran: colours, what is published, and what is kept."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.campaign.night.canaries import PlantedBug, plan_canaries
from conformance.campaign.night.plan import read_night, write_night
from conformance.catalogue import shipped_rows
from conformance.cli.means import Means
from conformance.cli.night import night
from conformance.cli.night_legs import planted_bugs
from conformance.core.registry import rows_with_a_probe
from conformance.running.machine.beginning import read_beginning
from fixtures.errors import EngineMissing, WrongUse
from fixtures.images import newest_version, select_versions
from mutants import all_mutants
from protocol.errors import KitError
from reports.carried import read_carried
from tests.support.fake_column_run import OTHER
from tests.support.merged_night import merge_here

ALL = select_versions(["all"])
ONE, *OTHERS = ALL
NEW = f"{OTHER} ({shipped_rows()[OTHER].cases[0].id})"
FAKE = (sys.executable, "-m", "tests.support.fake_column_run")


class Nights:
    """Nights in one folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.archive, self.merged = folder / "nights", folder / "night" / "merged"
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(folder)
        for variable in ("GITHUB_EVENT_NAME", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_RUN_ATTEMPT"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("KAFKA_CONFORMANCE_ATTEMPT", "")
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[4]))

    def __call__(self, *arguments: str, dead: str = "", **columns: list[str]) -> int:
        def prepare(versions: Sequence[str]) -> None:
            if dead in versions:
                raise EngineMissing("the registry does not answer")

        words = {name.removeprefix("v").replace("_", "."): each for name, each in columns.items()}
        self._monkeypatch.setenv("FAKE_COLUMNS", json.dumps(words))
        means = Means(prepare=prepare, pytest=FAKE, merge=merge_here, canary=lambda mutant, _: f"{mutant or 'empty'}:1")
        code: int = night.main([*arguments], standalone_mode=False, obj=means) or 0
        return code

    def plan(self, name: str, *options: str) -> None:
        self("plan", "--night", name, "--whole", *options)
        self.without_canaries()

    def without_canaries(self) -> None:
        file = self.folder / "night" / "plan.json"
        write_night(file, msgspec.structs.replace(read_night(file), canaries=[]))

    def leg(self, leg: str, *words: str, dead: bool = False, attempt: int = 0) -> int:
        options = ["--attempt", str(attempt)] if attempt else []
        self._monkeypatch.setenv("KAFKA_CONFORMANCE_ATTEMPT", "")
        return self("leg", leg, *options, dead=leg if dead else "-", **{f"v{leg.replace('.', '_')}": [*words]})

    def tell(self, *options: str) -> None:
        self("tell", *options)

    @property
    def requests(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / "night" / "issues.json").read_text())
        return found

    def plan_with_bug(self, name: str, row: str) -> None:
        """Plan a night whose canaries are about one row."""
        self.plan(name)
        file = self.folder / "night" / "plan.json"
        bug = PlantedBug(name="planted", red=[row], may=[])
        write_night(file, msgspec.structs.replace(read_night(file), canaries=plan_canaries(name, ALL[-1], [bug])))

    def canary(self, name: str, *words: str) -> int:
        image = f"{name.removeprefix('canary-')}:1"
        self._monkeypatch.setenv("KAFKA_CONFORMANCE_ATTEMPT", "")
        return self("leg", name, dead="-", **{f"v{image}": [*words]})

    @property
    def calls(self) -> Path:
        """The file of the options of the last night's legs."""
        return next(self.folder.glob("night/legs/*/calls.jsonl"))

    def merge(self, *options: str) -> int:
        return self("merge", *options)

    def publish(self, name: str, *words: str) -> int:
        """Run a whole night of which ONE has these words, and the other legs are dead."""
        self.plan(name)
        self.leg(ONE, *words)
        return self.merge()

    @property
    def published(self) -> list[str]:
        return sorted(path.parent.name for path in self.archive.glob("nights/*/night.json"))

    @property
    def summary(self) -> str:
        return (self.merged / "summary.md").read_text()

    def archive_matrix(self, name: str) -> Path:
        return self.archive / "nights" / name / "matrix.json"

    @property
    def first_line(self) -> str:
        return self.summary.splitlines()[0]

    @property
    def replays(self) -> list[list[str]]:
        """The options of all replays."""
        files = self.folder.glob("night/legs/*/*/calls.jsonl")
        return [msgspec.json.decode(line)[1] for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    return Nights(tmp_path, monkeypatch)


def test_a_leg_is_green_until_something_is_new(nights: Nights) -> None:
    nights.plan("1")
    assert nights.leg(ONE, "satisfied", "violated") == 0, "judged for the first time"
    nights.merge()
    nights.plan("2")
    assert nights.leg(ONE, "satisfied", "violated") == 0, "violated in the last night"
    assert nights.leg(ONE, "satisfied", "other-satisfied") == 0
    nights.merge()
    nights.plan("3")
    assert nights.leg(ONE, "satisfied", "violated") == 1
    assert nights.leg(ONE, "violated", "error") == 1
    assert nights.leg(ONE, "satisfied", "error") == 3
    assert nights.leg(ONE, "satisfied") == 3, "half of the rows"
    assert nights.leg(ONE, dead=True) == 3


def test_a_night_that_executed_too_little_is_not_the_measure_of_the_next(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    for name in ("2", "3"):
        nights.plan(name)
        assert nights.leg(ONE, "satisfied") == 3, "half of the rows"
        nights.merge()
    assert "1 of the 2 rows" in nights.summary


def test_what_is_new_is_replayed_at_once_with_another_seed(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.plan("2", "--seed", "11")
    assert nights.leg(ONE, "satisfied", "violated") == 1
    assert nights.merge() == 1
    assert f"| {NEW}, 3 of 5 replays |  |" in nights.summary
    (replay,) = nights.replays
    assert replay[replay.index("--replay") + 1].endswith("schedule.json")
    assert replay[replay.index("--conformance-seed") + 1] != "11"


def test_a_young_row_is_never_red(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    path = nights.archive_matrix("1").with_name("night.json")
    published = json.loads(path.read_text())
    assert published["ages"][OTHER][1] == 14, "the rows of the first night"
    published["ages"][OTHER][1] = 3
    path.write_text(json.dumps(published))
    nights.plan("2")
    assert nights.leg(ONE, "satisfied", "violated") == 0
    nights.merge()
    assert f"|  |  | {NEW}, 3 of 5 replays |" in nights.summary
    options = json.loads((nights.merged / "matrix" / "options.json").read_text())
    young = json.loads(Path(options[options.index("--provisional") + 1]).read_text())
    assert young == {OTHER: "3 of 14 clean nights"}, "so the pages say"
    ages = json.loads(nights.archive_matrix("2").with_name("night.json").read_text())["ages"]
    assert ages[OTHER][1] == 3, "no clean night"
    nights.publish("3", "satisfied", "violated")
    assert f"|  |  | {NEW}, 3 of 5 replays |" in nights.summary, "told in each night, and never known"
    nights.publish("4", "satisfied", "other-satisfied")
    nights.publish("5", "satisfied", "violated")
    assert f"|  |  | {NEW}, 3 of 5 replays |" in nights.summary


def test_a_leg_begins_with_what_was_new_before_and_with_its_examples(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.publish("2", "satisfied", "violated")
    nights.publish("3", "satisfied", "violated")
    legs = Path("night", "legs")
    begun = [
        f"{night}"
        for night in (1, 2, 3)
        if "--conformance-beginning" in (legs / f"{night}" / "calls.jsonl").read_text()
    ]
    assert begun == ["3"]
    (schedule,) = read_beginning(legs / "3" / f"{ONE}-1" / "beginning.json").schedules
    (example,) = legs.glob("2/*/examples/*/*")
    assert schedule.steps[0]["run"] == example.name
    assert example.name in {path.name for path in legs.glob("3/*/examples/*/*")}


def test_what_no_replay_shows_again_is_red_only_in_a_second_night(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.plan("2")
    assert nights.leg(ONE, "satisfied", "violated", "missed") == 0
    assert nights.merge() == 3, "the other legs are dead"
    assert f"|  | {NEW}, 0 of 5 replays |" in nights.summary
    nights.plan("3")
    assert nights.leg(ONE, "satisfied", "violated", "missed") == 1, "night 2 found it as well"
    nights.merge()
    assert f"| {NEW}, 0 of 5 replays |  |" in nights.summary
    nights.plan("4")
    assert nights.leg(ONE, "satisfied", "violated", "missed") == 0, "it is known now"


def test_what_comes_back_after_a_night_without_it_is_red(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.publish("2", "satisfied", "violated", "missed")
    nights.publish("3", "satisfied", "other-satisfied")
    nights.plan("4")
    assert nights.leg(ONE, "satisfied", "violated", "missed") == 1


def test_only_a_whole_night_is_published(nights: Nights) -> None:
    nights.publish("1", "satisfied")
    assert nights.published == ["1"]
    assert nights.first_line.startswith("**Night 1: published.**")
    assert (nights.merged / "site" / "runs" / "1" / "matrix" / "matrix.json").is_file()
    assert not (nights.merged / "site" / "runs" / "1" / "matrix" / "parquet").exists()
    kept = (nights.archive / "nights" / "1" / "matrix.json").read_bytes()
    nights("plan", "--night", "2", "--versions", f"{ONE}", "--whole")
    assert nights.leg(ONE, "satisfied", "violated") == 1
    assert nights.merge() == 1
    assert nights.first_line.startswith("**Night 2 is partial and published nothing**: it leaves out")
    assert nights.published == ["1"]
    assert (nights.archive / "nights" / "1" / "matrix.json").read_bytes() == kept
    assert not (nights.merged / "site").exists()
    assert "--archive" not in json.loads((nights.merged / "matrix" / "options.json").read_text())


def test_a_night_that_another_attempt_ends_well_is_like_one_that_went_well(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.plan("2")
    assert nights.leg(ONE, dead=True) == 3
    nights.merge()
    assert nights.published == ["1"], "no leg left anything"
    assert nights.leg(ONE, "satisfied", "violated") == 1
    nights.merge()
    assert nights.published == ["1", "2"]
    nights.plan("2")
    assert nights.leg(ONE, "satisfied", "violated") == 1, "still beside night 1"
    assert nights.merge() == 1
    assert "| 1 | KIP320-FETCH-03" in (nights.merged / "summary.md").read_text()


def test_a_dead_night_keeps_the_column_for_the_nights_after_it(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.plan("2")
    nights.leg(OTHERS[0], "satisfied")
    assert nights.leg(ONE, dead=True) == 3
    assert nights.merge() == 3
    assert "the registry does not answer" in (nights.merged / "summary.md").read_text()
    carried, *never = read_carried(nights.merged / "carried.json")
    assert [(each.kafka_version, each.matrix) for each in never] == [(leg, "") for leg in OTHERS[1:]]
    assert (carried.kafka_version, carried.from_run, carried.age_nights) == (ONE, "1", 1)
    assert carried.reason == "attempt 1: the registry does not answer"
    assert Path(carried.matrix) == nights.archive / "nights" / "1" / "matrix.json"
    assert "--carry" in json.loads((nights.merged / "matrix" / "options.json").read_text())
    nights.plan("3")
    assert nights.leg(ONE, "satisfied", "violated") == 1


def test_a_night_without_a_column_shows_nothing_of_the_last_merge(nights: Nights) -> None:
    nights.publish("1", "satisfied")
    (nights.merged / "matrix" / "summary.md").write_text("a table of night 1")
    nights.plan("2")
    nights.leg(ONE, dead=True)
    assert nights.merge() == 3
    assert "a table of night 1" not in nights.summary
    assert [path.name for path in nights.merged.iterdir() if path.is_dir()] == []
    assert (nights.archive / "site" / "index.html").is_file()


def test_a_cut_off_attempt_is_no_column(nights: Nights) -> None:
    nights.plan("1")
    assert nights.leg(ONE, "satisfied", "cut", "killed") == 3
    assert nights.merge() == 3
    assert nights.published == []


def test_a_scheduled_job_is_told_of_legs_and_publication(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        monkeypatch.setenv(variable, str(nights.folder / variable))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "schedule")
    nights("plan", "--night", "7")
    nights.leg(ONE, "satisfied")
    nights.merge()
    legs, published = (nights.folder / "GITHUB_OUTPUT").read_text().splitlines()
    names = json.loads(legs.removeprefix("legs="))
    assert names[: len(ALL)] == [*ALL]
    assert [name.split("-")[0] for name in names[len(ALL) :]] == ["canary", "canary"]
    assert published == "published=true"
    assert (nights.folder / "GITHUB_STEP_SUMMARY").read_text().startswith("**Night 7: published.**")


def test_the_site_remembers_each_published_night(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.publish("2", "satisfied", "violated")
    nights.plan("2")
    nights.merge()
    nights.publish("3", "satisfied", "other-satisfied")
    site = nights.merged / "site"
    assert sorted(path.name for path in (site / "runs").iterdir()) == ["1", "2", "3"]
    lines = re.findall(r'<tr id="night-(.*?)".*?</tr>', (site / "index.html").read_text(), re.DOTALL)
    assert lines == ["3", "2", "1"]
    assert (site / "latest" / "matrix.json").read_bytes() == nights.archive_matrix("3").read_bytes()
    (two,) = re.findall(r'<tr id="night-2".*?</tr>', (site / "index.html").read_text(), re.DOTALL)
    assert f"<span>{NEW} on {ONE}</span>" in two
    assert OTHERS[-1] in two, "a dead leg"
    (three,) = re.findall(r'<tr id="night-3".*?</tr>', (site / "index.html").read_text(), re.DOTALL)
    assert f"<span>{OTHER} on {ONE}</span>" in three, "mended"


def test_a_published_night_tells_of_each_new_row(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.publish("2", "satisfied", "violated")
    report = next((nights.merged / "evidence").glob("*/*")) / "report.md"
    report.write_text("# it broke")
    nights.tell("--page", "https://a.example/kit/")
    (request,) = nights.requests
    assert (request["action"], request["title"]) == ("open", f"{OTHER} on {ONE}")
    assert "https://a.example/kit/runs/2/matrix/rows/" in request["fields"]["body"]
    assert "# it broke" in request["fields"]["body"]
    open_issues = nights.folder / "open.json"
    open_issues.write_text(json.dumps([{"number": 3, "title": f"{OTHER} on {ONE}", "body": ""}]))
    nights.publish("3", "satisfied", "other-satisfied")
    nights.tell("--open", str(open_issues))
    assert [(each["action"], each["path"]) for each in nights.requests] == [("close", "issues/3")]
    (nights.merged / "matrix" / "matrix.json").write_text("that of a merge after it, which published nothing")
    nights.tell("--open", str(open_issues))
    assert [(each["action"], each["path"]) for each in nights.requests] == [("close", "issues/3")]
    open_issues.write_text("[{}]")
    with pytest.raises(WrongUse, match=r"open.json: .*gh issue list"):
        nights.tell("--open", str(open_issues))
    nights("plan", "--night", "4", "--versions", f"{ONE}", "--whole")
    nights.leg(ONE, "satisfied", "violated")
    nights.merge()
    nights.tell()
    assert nights.requests == [], "a partial night tells nothing"


def test_the_time_of_the_newest_published_night_is_kept_for_the_alarm(nights: Nights) -> None:
    assert nights("alarm") == 3
    nights.publish("1", "satisfied")
    assert nights("alarm") == 0


def test_a_canary_that_looks_well_publishes_nothing(nights: Nights) -> None:
    nights.plan_with_bug("1", OTHER)
    nights.leg(ONE, "satisfied", "other-satisfied")
    assert nights.canary("canary-planted", "violated") == 0
    assert nights.canary("canary-empty", "error") == 0
    assert nights.merge() == 3, "the other legs are dead"
    assert nights.published == ["1"]
    assert "canary-planted: red, as it must be" in nights.summary
    nights.plan_with_bug("2", OTHER)
    nights.leg(ONE, "satisfied", "other-satisfied")
    assert nights.canary("canary-planted", "satisfied", "other-satisfied") == 3
    assert nights.canary("canary-empty", "error") == 0
    assert nights.merge() == 3
    assert nights.published == ["1"]
    assert nights.first_line.startswith(
        "**Night 2 published nothing**: canary canary-planted looks well: planted turns none"
    )
    nights.canary("canary-planted", "violated")
    nights.canary("canary-empty", "satisfied")
    nights.merge()
    assert nights.published == ["1"]
    assert "an empty cluster satisfies KIP320-FETCH-02" in nights.first_line


def test_a_dead_canary_is_trouble_and_no_more(nights: Nights) -> None:
    nights.plan_with_bug("1", OTHER)
    nights.leg(ONE, "satisfied")
    nights.canary("canary-planted", "violated", "satisfied")
    assert nights.canary("canary-empty", "cut", "killed") == 3
    assert nights.merge() == 3
    assert nights.published == ["1"]
    assert "canary-empty: attempt 1: its run ended with -9" in nights.summary


def test_a_canary_has_its_own_image_and_name(nights: Nights) -> None:
    nights.plan_with_bug("1", OTHER)
    nights.canary("canary-empty", "error")
    ((_, options),) = [json.loads(line) for line in nights.calls.read_text().splitlines()]
    assert options[options.index("--kafka-image") + 1] == "empty:1"
    assert options[options.index("--label") + 1] == "canary-empty"
    assert options[options.index("--requirement") + 1] == OTHER
    assert options[options.index("--conformance-profile") + 1] == "smoke"


def test_the_tables_of_the_fault_lab_are_shown(nights: Nights) -> None:
    lab = nights.folder / "night" / "lab" / "lab-1"
    lab.mkdir(parents=True)
    (lab / "faults.txt").write_text("booting\n| fault | witness |\n|---|---|\n| kill | shown |\n")
    (lab / "storm.txt").write_text("no engine\n")
    nights.publish("1", "satisfied")
    assert "Fault lab: faults\n\n| fault | witness |\n|---|---|\n| kill | shown |\n" in nights.summary
    assert "Fault lab: storm\n\nno table\n" in nights.summary


def test_a_disk_that_is_full_publishes_nothing(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    nights.publish("1", "satisfied")
    nights.plan("2")
    nights.leg(ONE, "satisfied")
    (nights.merged / "site").rename(nights.folder / "site")
    full = nights.archive / "nights" / "2"
    full.write_text("not a folder")
    with pytest.raises(KitError, match=r"night 2: .*Nothing is published"):
        nights.merge()
    assert nights.published == ["1"]


def test_a_disk_that_is_full_while_the_site_is_written_publishes_nothing(nights: Nights) -> None:
    nights.publish("1", "satisfied")
    kept = (nights.archive / "site" / "index.html").read_bytes()
    nights.plan("2")
    nights.leg(ONE, "satisfied")
    full = nights.archive / "site" / "runs" / "1" / "matrix" / "full"
    full.symlink_to("nowhere")
    with pytest.raises(KitError, match=r"night 2: .*Nothing is published"):
        nights.merge()
    assert nights.published == ["1"]
    assert (nights.archive / "site" / "index.html").read_bytes() == kept


def test_a_disk_that_is_full_while_the_site_is_kept_publishes_nothing(nights: Nights) -> None:
    nights.publish("1", "satisfied")
    nights.plan("2")
    nights.leg(ONE, "satisfied")
    (nights.archive / "site.draft").write_text("not a folder")
    with pytest.raises(KitError, match=r"night 2: .*Nothing is published"):
        nights.merge()
    assert nights.published == ["1"]


def test_an_archive_that_is_no_matrix_is_refused_by_its_name(nights: Nights) -> None:
    nights.publish("1", "satisfied")
    nights.archive_matrix("1").write_text("{}")
    nights.plan("2")
    with pytest.raises(WrongUse, match=r"nights/1/matrix.json"):
        nights.leg(ONE, "satisfied")
    nights.leg(OTHERS[0], "satisfied")
    with pytest.raises(WrongUse, match=r"nights/1/matrix.json"):
        nights.merge()
    assert nights.published == ["1"]


def test_bad_requests_are_refused_in_a_sentence(nights: Nights) -> None:
    with pytest.raises(WrongUse, match=r"9.9.9"):
        nights("plan", "--versions", "9.9.9 $(touch x)")
    with pytest.raises(WrongUse, match="named by a date or a number"):
        nights("plan", "--night", '"; id')
    with pytest.raises(WrongUse, match=r"plan.json"):
        nights.merge()
    nights.publish("5", "satisfied")
    with pytest.raises(WrongUse, match=r"leg '9.9.9' is not in the plan"):
        nights.leg("9.9.9")
    nights.plan("4")
    nights.leg(ONE, "satisfied")
    with pytest.raises(WrongUse, match="night 4 is older than 5"):
        nights.merge()
    assert nights.published == ["5"]


def test_an_archive_that_is_lost_is_not_taken_for_a_first_night(nights: Nights) -> None:
    nights.publish("1", "satisfied", "other-satisfied")
    nights.archive.rename(nights.folder / "elsewhere")
    nights("plan", "--night", "2", "--versions", ONE, "--whole")
    nights.leg(ONE, "satisfied", "violated")
    assert nights.merge() == 0, "a part of a night, which publishes nothing"
    nights.plan("2")
    with pytest.raises(WrongUse, match="night 1 was published, and nights has no night"):
        nights.merge()
    assert not nights.archive.exists()


def test_what_a_run_recorded_is_never_removed(nights: Nights) -> None:
    nights.plan("1")
    nights.leg(ONE, "satisfied")
    own = nights.folder / "own" / "shards" / "a.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text("recorded")
    with pytest.raises(WrongUse, match=r"own/shards: no merge of a night made it.* Give another --out\."):
        nights.merge("--out", str(own.parents[1]))
    assert own.read_text() == "recorded"
    assert nights.merge() == nights.merge() == 3, "the other legs are dead"


def test_each_attempt_is_told_its_own_number(nights: Nights) -> None:
    nights.plan("1")
    nights.leg(ONE, dead=True)
    nights.leg(ONE, "satisfied")
    assert os.environ["KAFKA_CONFORMANCE_ATTEMPT"] == "2"
    nights.leg(OTHERS[0], "satisfied")
    assert os.environ["KAFKA_CONFORMANCE_ATTEMPT"] == "1"


def test_a_bug_that_only_longer_profiles_see_is_no_canary() -> None:
    bugs, mutants = planted_bugs(newest_version()), {one.name: one for one in all_mutants()}
    assert "expired-producers-kept" not in {bug.name for bug in bugs}, "its row is checked from quick on"
    assert len(bugs) > 30
    for bug in bugs:
        assert set(bug.red) <= rows_with_a_probe("smoke")
        assert {*bug.red, *bug.may} == {red.id for red in (*mutants[bug.name].red, *mutants[bug.name].may)}
