"""Findings: what a file must have, and what it may not contradict."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.findings import FOLDER, in_spans
from reports.track_record.load import entries_of, load_findings

GOOD = """\
title = "The lookup of the largest timestamp returns another epoch"
kind = "bug"
ticket = "KAFKA-16310"
bad = ["3.3.1..3.7.2"]
good = ["3.8.1..4.4.0"]
fixed_in = "3.8.0"
sure = "always"
found = "a probe"
command = "./kit rows"
seen = "5 of 5"
story = "A story."
harm = "Little."
standing = "Fixed."
inferred = "Nothing."
[rows]
KIP320-LO-04 = ["empty-epoch"]
"""
KNOWN = Deviation(
    requirement="KIP320-LO-04", versions=("3.3..3.7",), reason="r", ticket="KAFKA-16310", cases=("empty-epoch",)
)
Change = Callable[[str], str]


def _load(folder: Path, text: str, *known: Deviation) -> list[str]:
    home = folder / FOLDER / "largest-timestamp"
    home.mkdir(parents=True)
    (home / "finding.toml").write_text(text)
    return [one.name for one in load_findings(folder, shipped_rows(), known or [KNOWN])]


def test_a_finding_has_its_first_versions(tmp_path: Path) -> None:
    _load(tmp_path, GOOD)
    (one,) = load_findings(tmp_path, shipped_rows(), [KNOWN])
    assert (one.name, one.first_bad, one.first_good, one.is_open) == ("largest-timestamp", "3.3.1", "3.8.1", False)
    assert entries_of(one, [KNOWN]) == [KNOWN]


def test_the_first_good_version_is_after_the_last_bad_one(tmp_path: Path) -> None:
    known = Deviation(
        requirement="KIP320-LO-04", versions=("3.4..3.7",), reason="r", ticket="KAFKA-16310", cases=("empty-epoch",)
    )
    text = GOOD.replace("3.3.1..", "3.4.1..").replace("3.8.1..4.4.0", "3.3.1..3.3.2")
    _load(tmp_path, text, known)
    (one,) = load_findings(tmp_path, shipped_rows(), [known])
    assert one.first_good == ""


def test_a_span_holds_what_is_between_its_ends() -> None:
    assert in_spans("3.5.2", ("3.3.1..3.7.2",))
    assert in_spans("4.0.0", ("4.0.0",))
    assert not in_spans("4.0.1", ("3.3.1..3.7.2", "4.0.0"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('harm = "Little."\n', ""), "missing required field `harm`"),
        (lambda text: text.replace('"Little."', '""'), "harm: is empty"),
        (lambda text: text.replace('"bug"', '"flaw"'), r"\$\.kind"),
        (lambda text: text.replace("found =", "fond ="), "fond"),
        (lambda text: text.replace("KIP320-LO-04", "KIP320-LO-44"), "rows.KIP320-LO-44: .* is no row"),
        (lambda text: text.replace("empty-epoch", "empty"), "rows.KIP320-LO-04: there is no case empty; "),
        (lambda text: text.replace('["3.8.1', '["3.7.2'), "good: holds 3.7.2, as `bad` does"),
        (lambda text: text.replace("KAFKA-16310", "KAFKA-1"), "rows.KIP320-LO-04: .* no entry .*'KAFKA-1'"),
        (lambda text: text.replace("3.3.1..3.7.2", "3.3.1..3.8.0"), "bad: .* covers 3.8.0"),
        (lambda text: text.replace("3.7.2", "3.6.2").replace("3.8.1", "3.7.2"), "good: .* 3.7.2 breaks KIP320-LO-04"),
        (lambda text: "readme = 1\n" + text, "in_short: goes with `readme`"),
        (lambda text: text + "x", "finding.toml: "),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_file_and_field(tmp_path: Path, change: Change, said: str) -> None:
    with pytest.raises(CatalogueError, match=f"docs/findings/largest-timestamp/finding.toml: .*{said}|{said}") as error:
        _load(tmp_path, change(GOOD))
    assert "docs/findings/largest-timestamp/finding.toml" in str(error.value)


def test_a_folder_without_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FOLDER / "empty").mkdir(parents=True)
    with pytest.raises(CatalogueError, match=r"docs/findings/empty/finding.toml is missing"):
        load_findings(tmp_path, shipped_rows(), [])


def test_a_known_deviation_without_a_finding_is_refused(tmp_path: Path) -> None:
    other = Deviation(requirement="KIP360-SEQ-11", versions=("3.3..",), reason="r", cases=("duplicate",))
    with pytest.raises(CatalogueError, match=r"known-deviations.toml: KIP360-SEQ-11, .*no finding tells it"):
        _load(tmp_path, GOOD, KNOWN, other)


def test_a_race_may_be_missed_where_it_is_known(tmp_path: Path) -> None:
    assert _load(tmp_path, GOOD.replace('"always"', '"race"').replace("3.8.1", "3.7.2"))
