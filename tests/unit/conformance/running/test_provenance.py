"""Where a run comes from, as its shards say it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.running.provenance import CHANGED, Provenance, commit_of, provenance_of

ROOT = Path(__file__).parents[4]
GITHUB = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"}


def git(folder: Path, *words: str) -> None:
    options = ("-c", "user.name=n", "-c", "user.email=e@e")
    subprocess.run(["git", "-C", str(folder), *options, *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    (tmp_path / "kit").write_text("")
    git(tmp_path, "add", "kit")
    git(tmp_path, "commit", "-m", "Begin")
    return tmp_path


@pytest.mark.parametrize(
    ("environment", "job", "attempt"),
    [
        ({}, "", 0),
        (GITHUB | {"GITHUB_RUN_ATTEMPT": "2"}, "https://github.com/a/b/actions/runs/7", 2),
        (GITHUB | {"KAFKA_CONFORMANCE_JOB": "https://ci/8", "KAFKA_CONFORMANCE_ATTEMPT": "3"}, "https://ci/8", 3),
        ({"GITHUB_RUN_ID": "7", "KAFKA_CONFORMANCE_ATTEMPT": "$(id)"}, "", 0),
    ],
)
def test_the_job_is_that_of_the_environment(environment: dict[str, str], job: str, attempt: int) -> None:
    found = provenance_of(0.0, environment)
    assert (found.began, found.job, found.attempt) == ("1970-01-01T00:00:00+00:00", job, attempt)
    assert found.host


def test_a_changed_tree_is_told_from_a_clean_one(checkout: Path) -> None:
    clean = commit_of(checkout)
    assert len(clean) == 40
    (checkout / "other").write_text("")
    assert commit_of(checkout) == clean + CHANGED


def test_an_installed_kit_has_no_commit_even_inside_another_checkout(checkout: Path, tmp_path: Path) -> None:
    inner = checkout / "site-packages"
    inner.mkdir()
    assert commit_of(inner) == ""
    assert commit_of(tmp_path / "nowhere") == ""
    assert Provenance() == Provenance(began="", host="", commit="", job="", attempt=0)


@pytest.mark.parametrize("written", ["night/plan.json", "nights/site/index.html", "night.log", "open.json", "out/run"])
def test_what_runs_write_into_a_checkout_leaves_it_clean(checkout: Path, written: str) -> None:
    shutil.copy(ROOT / ".gitignore", checkout)
    git(checkout, "add", ".gitignore")
    git(checkout, "commit", "-m", "Ignore")
    (checkout / written).parent.mkdir(parents=True, exist_ok=True)
    (checkout / written).write_text("")
    assert not commit_of(checkout).endswith(CHANGED)
