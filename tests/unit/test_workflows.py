"""The workflow files' own steps, run over invented nights: what each job comes to, what is published, kept and told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_column_run import OTHER
from tests.support.played_nights import (
    BEGIN,
    BROKEN,
    END,
    NEWEST,
    OLD,
    PAGE,
    Night,
    Nights,
    Played,
    one_after_the_other,
    table,
)
from tests.support.workflows import Forge, Job

NEW = f"{OTHER} on {NEWEST}"
JOBS = ("plan", "leg", "faults", "merge", "issues", "pages")


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Nights:
    return Nights(tmp_path_factory.mktemp("nights") / "forge", patch)


@pytest.fixture(scope="module")
def played(nights: Nights) -> dict[str, Played]:
    return {one.title: one for one in one_after_the_other(nights)}


@pytest.fixture(scope="module")
def forge(nights: Nights, played: dict[str, Played]) -> Forge:
    """The forge on which the nights were played."""
    return nights.forge


def test_the_page_has_the_table_of_what_was_played(played: dict[str, Played]) -> None:
    written = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert written == table([*played.values()]), "run ./kit python -m tests.support.played_nights"


def test_a_dead_leg_and_one_that_was_cut_off_keep_the_other_columns_published(played: dict[str, Played]) -> None:
    for title in ("2: one leg dead at the image", "3: one leg cut off in the middle"):
        night = played[title]
        assert (night.colour("leg"), night.colour("merge"), night.colour("pages")) == (f"red: {OLD}", "red", "green")
        assert night.published[-1] == night.kept[-1] == int(title[0])


def test_a_part_by_hand_changes_nothing(played: dict[str, Played]) -> None:
    before, part = played["3: one leg cut off in the middle"], played["4: a part by hand"]
    assert (part.published, part.kept, part.told) == (before.published, before.kept, [])
    assert (part.colour("issues"), part.colour("pages")) == ("–", "–")


def test_a_night_whose_jobs_run_again_comes_to_the_same(played: dict[str, Played]) -> None:
    first, failed, every = (
        played[f"5{how}"] for how in (": a new violation", ", failed jobs again", ", all jobs again")
    )
    assert first.told == [f"{NEW}: opened"]
    for again in (failed, every):
        assert again.told == [], "the issue is updated"
        assert (
            again.line.partition("| green")[2].rpartition("|  ")[0]
            == first.line.partition("| green")[2].rpartition("|  ")[0]
        )
        assert (again.published, again.kept, again.colour("leg")) == (first.published, first.kept, f"red: {NEWEST}")


def test_an_issue_stays_while_the_row_is_violated_and_is_closed_after_it(played: dict[str, Played]) -> None:
    assert (played["6: it stays"].told, played["6: it stays"].colour("leg")) == ([], "green")
    assert played["7: it is gone"].told == [f"{NEW}: closed"]


def test_what_no_replay_shows_again_is_red_in_a_second_night_only(played: dict[str, Played]) -> None:
    first, second = played["8: new, not seen again"], played["9: seen in a second night"]
    assert (first.colour("leg"), first.told) == ("green", [])
    assert (second.colour("leg"), second.told) == (f"red: {NEWEST}", [f"{NEW}: opened"])


def test_a_canary_that_looks_well_publishes_nothing(played: dict[str, Played]) -> None:
    before = played["9: seen in a second night"]
    for title in ("10: a canary that stays green", "11: an empty cluster that satisfies a row"):
        night = played[title]
        assert (night.published, night.kept, night.colour("merge")) == (before.published, before.kept, "red")
        assert night.told == []


def test_a_cache_that_cannot_be_saved_turns_the_merge_red(played: dict[str, Played]) -> None:
    night = played["12: a cache that cannot be saved"]
    assert (night.colour("leg"), night.colour("merge")) == ("green", "red")
    assert 12 not in night.kept


def test_no_leg_at_all_keeps_what_was_published(played: dict[str, Played]) -> None:
    before, night = played["12: a cache that cannot be saved"], played["13: no leg left anything"]
    assert (night.colour("merge"), night.published, night.kept) == ("red", before.published, before.kept)


def test_a_night_that_is_missing_raises_the_alarm(played: dict[str, Played]) -> None:
    assert played["no night for 36 hours"].told == []
    assert played["no night for 37 hours"].told == ["alarm"]


def test_an_archive_that_is_lost_in_whole_or_in_part_publishes_nothing(played: dict[str, Played]) -> None:
    for title, earlier, kept in (
        ("14: the archive is lost", "13: no leg left anything", []),
        ("16: what was added is lost", "15: all well again", played["9: seen in a second night"].kept),
    ):
        before, night = played[earlier], played[title]
        assert (night.colour("leg"), night.colour("merge"), night.colour("pages")) == ("green", "red", "–")
        assert (night.published, night.kept) == (before.published, kept)


def caches(forge: Forge, name: str) -> list[Path]:
    return [forge.folder / "caches" / key for key in forge.caches if key.startswith(name)]


def test_nights_are_saved_whole_now_and_then_and_between_by_what_was_added(forge: Forge) -> None:
    assert [path.name for path in caches(forge, "nights-")] == ["nights-id1-1", "nights-id9-1"]
    for path in caches(forge, "added-"):
        whole = int(path.name.split("-")[2].removeprefix("id"))
        files = {file.relative_to(path / "files") for file in path.glob("files/nights/*/matrix.json")}
        assert min(int(file.parts[1]) for file in files) > whole, "nothing that the whole copy has"
    (last,) = (path for path in caches(forge, "added-") if path.name == "added-nights-id1-1-id8-1")
    assert len([*last.glob("files/nights/*/night.json")]) == 6


def test_downloads_and_what_was_new_are_carried_from_red_nights(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    nights = Nights(tmp_path / "forge", patch)

    def downloads() -> list[str]:
        return sorted(path.name for path in caches(nights.forge, "kit-") if "canary" not in path.name)

    nights.play("1: one leg dead, the other one cut off", Night(dead=[OLD], cut=[NEWEST]))
    kept = f"kit-{NEWEST}-hash"
    assert downloads() == [kept]
    assert [*(nights.forge.folder / "caches" / kept).iterdir()]
    nights.play("2: all well")
    assert downloads() == [f"kit-{OLD}-hash", kept]
    nights.play("3: a new violation", Night({NEWEST: BROKEN}))
    nights.play("4: it stays", Night({NEWEST: BROKEN}))
    begun = nights.forge.folder.glob("work/nightly-*-leg-*/night/legs/*/*/beginning.json")
    assert [path.parts[-3:-1] for path in begun] == [("4", f"{NEWEST}-1")]


def test_jobs_that_failed_after_a_green_merge_run_again_without_it(tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    nights = Nights(tmp_path / "forge", patch)
    run = nights.play("1").run
    run.jobs |= {"issues": Job("failure"), "pages": Job("failure")}
    again = nights.again("1, failed jobs again", run, only_failed=True)
    assert [again.colour(job) for job in JOBS] == ["green"] * len(JOBS)


@pytest.mark.parametrize("text", ['$(touch pwned) "', "`touch pwned`", "4.4.0; touch pwned", "4.4.0\ntouch pwned"])
def test_no_input_reaches_a_shell(text: str, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    nights = Nights(tmp_path / "forge", patch)
    found = nights.play(
        "bad", Night({NEWEST: BROKEN}), "workflow_dispatch", versions=text, requirements=text, seed=text
    )
    assert (found.colour("plan"), found.colour("leg"), found.colour("merge")) == ("red", "–", "–")
    assert [*tmp_path.rglob("pwned")] == []
    assert (found.published, found.kept, found.told) == ([], [], [])


# --- the interpreter itself

WORKFLOW = """
name: a
jobs:
  first:
    outputs: {legs: "${{ steps.made.outputs.legs }}"}
    steps:
      - id: made
        run: echo 'legs=["a", "b"]' >> "$GITHUB_OUTPUT"
  leg:
    needs: first
    strategy: {matrix: {leg: "${{ fromJSON(needs.first.outputs.legs) }}"}}
    steps:
      - run: test "${{ matrix.leg }}" != "${{ inputs.bad }}"
      - if: ${{ always() }}
        run: touch "$FORGE/always-${{ matrix.leg }}"
      - run: touch "$FORGE/then-${{ matrix.leg }}"
  after: {needs: leg, steps: [{run: "true"}]}
  anyway: {needs: [first, leg], if: "${{ !cancelled() && needs.first.result == 'success' }}", steps: [{run: "true"}]}
"""


def interpreted(folder: Path, bad: str) -> dict[str, str]:
    path = folder / "a.yml"
    path.write_text(WORKFLOW)
    run = Forge(folder / "forge", lambda *_: 0).begin(path, "workflow_dispatch", bad=bad)
    return {name: job.result for name, job in run.jobs.items()}


def test_jobs_wait_for_their_needs_and_conditions_hold_as_on_github(tmp_path: Path) -> None:
    (tmp_path / "well").mkdir()
    assert set(interpreted(tmp_path / "well", "none").values()) == {"success"}
    assert interpreted(tmp_path, "b") == {
        "first": "success", "leg a": "success", "leg b": "failure", "after": "skipped", "anyway": "success",
    }  # fmt: skip
    found = sorted(path.name for path in (tmp_path / "forge").glob("*-?"))
    assert found == ["always-a", "always-b", "then-a"]


def test_every_action_of_the_workflows_is_played() -> None:
    text = "".join(path.read_text() for path in (PAGE.parents[1] / ".github" / "workflows").glob("[an]*.yml"))
    source = (Path(__file__).parents[1] / "support" / "workflows.py").read_text()
    assert {name for name in re.findall(r"uses: ([\w/-]+)@", text) if f'"{name}"' not in source} == set()
