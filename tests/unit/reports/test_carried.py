"""A column that a night could not run: its verdicts, its age, and its rows that were changed since."""

from pathlib import Path

import msgspec
import pytest

from conformance.catalogue import shipped_rows
from reports.carried import CarriedColumn, carry_over, read_carried
from reports.errors import ReportError
from reports.insights import Insights
from reports.matrix import Matrix, Pooled, encode_matrix, mark_provisional
from reports.merge import Merged
from reports.site.pages import write_site
from reports.texts.badges import badges
from reports.texts.markdown import summary
from reports.texts.versions import broken_since
from tests.support.sample_matrix import ROW, all_cases, cell, checks, matrix, violation

OLD, NEW = "3.8.1", "4.3.1"


def judged(*versions: str, violated: str = "") -> Matrix:
    cases = [line for v in versions for line in all_cases(v, violated=2 if v == violated else 0)]
    shown = [violation(violated, detail="was wrong")] if violated else []
    return matrix(Pooled(cases=cases, checks=[checks(v) for v in versions], violations=shown), *versions)


def carried(folder: Path, published: Matrix, age: int = 2) -> CarriedColumn:
    file = folder / "published.json"
    file.write_bytes(encode_matrix(published))
    return CarriedColumn(kafka_version=OLD, matrix=str(file), from_run="7", age_nights=age, reason="no <image>")


def night(folder: Path, published: Matrix, age: int = 2) -> tuple[Matrix, Insights]:
    return carry_over(judged(NEW), Insights(), [carried(folder, published, age)], shipped_rows())


def test_a_column_that_was_not_run_keeps_its_verdicts_place_and_age(tmp_path: Path) -> None:
    found, insights = night(tmp_path, judged(OLD, NEW, violated=OLD))
    assert found.kafka_versions == [column.kafka_version for column in found.columns] == [OLD, NEW]
    assert len(found.cells) == 2 * len(shipped_rows())
    assert (cell(found, OLD).verdict, cell(found, NEW).verdict) == ("violated", "satisfied")
    assert (found.columns[0].from_run, found.columns[0].age, found.columns[1].age) == ("7", "2 nights old", "")
    assert found.columns[0].verdicts["violated"] == 1
    (first,) = [one for one in insights.firsts if one.requirement == ROW]
    assert (first.first_bad, first.first_good) == (OLD, NEW)


def test_since_when_names_columns_that_were_not_run_or_are_of_another_night(tmp_path: Path) -> None:
    never = CarriedColumn(kafka_version="3.9.2", reason="it never began")
    old = carried(tmp_path, judged(OLD, violated=OLD))
    _, insights = carry_over(judged("3.7.2", NEW), Insights(), [old, never], shipped_rows())
    (first,) = [one for one in insights.firsts if one.requirement == ROW]
    assert (first.first_bad, first.last_good, first.first_good) == (OLD, "3.7.2", NEW)
    assert (first.unrun_before, first.unrun_after, first.ages) == ([], ["3.9.2"], {OLD: "2 nights old"})
    assert broken_since(first) == f"Since {OLD} [2 nights old] (3.7.2 was good), mended in {NEW} (3.9.2 not run)"


def test_evidence_of_another_night_is_not_linked(tmp_path: Path) -> None:
    found, _ = night(tmp_path, judged(OLD, violated=OLD))
    own = cell(found, OLD)
    assert [(each.detail, each.history, each.evidence) for each in own.shown] == [("was wrong", "", "")]
    assert own.evidence == []


def test_a_row_that_was_changed_since_is_not_carried_over(tmp_path: Path) -> None:
    published = judged(OLD, violated=OLD)
    for row in published.requirements:
        if row.requirement == ROW:
            published.requirements[published.requirements.index(row)] = msgspec.structs.replace(row, hash="other")
    found, _ = night(tmp_path, published)
    assert cell(found, OLD).verdict == "not-run"
    assert cell(found, OLD).reason.startswith("row changed")
    assert found.columns[0].verdicts.get("violated", 0) == 0


def test_its_age_is_on_every_page(tmp_path: Path) -> None:
    found, insights = night(tmp_path, judged(OLD, violated=OLD))
    note = "Column 3.8.1 was not run and is that of night 7, 2 nights old: no"
    assert badges(found)[f"{OLD}.json"]["message"] == "1 violated (2 nights old)"
    assert "nights old" not in badges(found)[f"{NEW}.json"]["message"]
    assert f"{note} &lt;image&gt;." in summary(found)
    write_site(Merged(matrix=found, insights=insights), shipped_rows(), tmp_path / "site", None)
    index = (tmp_path / "site" / "index.html").read_text()
    assert f"{note} &lt;image&gt;." in index
    assert index.count(' carried"') == len(shipped_rows()), "the cells of one column"
    assert "2 nights old" in (tmp_path / "site" / "runs.html").read_text()


def test_a_row_that_is_provisional_says_so_on_every_page(tmp_path: Path) -> None:
    young = mark_provisional(judged(NEW, violated=NEW), {ROW: "3 of 14 clean nights"})
    write_site(Merged(matrix=young, insights=Insights()), shipped_rows(), tmp_path / "site", None)
    index = (tmp_path / "site" / "index.html").read_text()
    assert index.count('title="3 of 14 clean nights') == 2, "in the findings and in the matrix"
    assert "never turns a night red" in index
    assert "provisional: 3 of 14 clean nights" in (tmp_path / "site" / "rows" / f"{ROW}.html").read_text()
    old = mark_provisional(young, {})
    write_site(Merged(matrix=old, insights=Insights()), shipped_rows(), tmp_path / "site", None)
    assert "provisional" not in (tmp_path / "site" / "index.html").read_text()


def test_a_cell_says_how_strong_its_row_is(tmp_path: Path) -> None:
    write_site(Merged(matrix=judged(NEW), insights=Insights()), shipped_rows(), tmp_path / "site", None)
    index = (tmp_path / "site" / "index.html").read_text()
    for level in ("must", "should", "law"):
        rows = [row for row in shipped_rows() if row.level == level]
        assert index.count(f" <small>{level}</small></i>") == len(rows)


def test_promises_of_later_kips_are_told_of_every_column(tmp_path: Path) -> None:
    found, _ = night(tmp_path, judged(OLD))
    assert found.rule_changes
    assert all([*change.values] == [OLD, NEW] for change in found.rule_changes)


def test_one_night_is_no_nights(tmp_path: Path) -> None:
    assert night(tmp_path, judged(OLD), age=1)[0].columns[0].age == "1 night old"


def test_what_is_no_list_of_columns_or_lacks_the_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "carried.json").write_text("{}")
    with pytest.raises(ReportError, match=r"carried\.json"):
        read_carried(tmp_path / "carried.json")
    with pytest.raises(ReportError, match=r"no column '3\.8\.1'"):
        night(tmp_path, judged(NEW))
