"""Output for machines and pull requests: Markdown, the summary, JUnit, badges, and the terminal of twelve columns."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import msgspec
import pytest

from conformance.catalogue import shipped_rows
from conformance.catalogue.rows import Level
from conformance.judging.pooling import Attempts
from conformance.judging.verdicts import VERDICTS, Verdict
from history.shards import AttemptCount
from reports.differences import column_pairs
from reports.insights import Insights
from reports.matrix import Matrix, Pooled
from reports.matrix_file import compared_matrix
from reports.texts import terminal
from reports.texts.badges import badges, file_of
from reports.texts.files import write_texts
from reports.texts.findings import findings
from reports.texts.junit import OUTCOMES, junit
from reports.texts.markdown import COMMENT, markdown, summary
from reports.texts.versions import spans
from reports.texts.wording import GLYPHS, LEVELS, by_family
from tests.support import sample_matrix
from tests.support.sample_matrix import ROW, all_cases, cell, checks, known_deviation, matrix, violation

TWELVE = ["3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.1", "4.1.1", "4.2.0", "4.3.1", "4.4.0"]
OTHER = "KIP320-FETCH-01"
EVIL = "</td><script>alert(1)</script> | `x` [a](javascript:1) \x00\x1b[31m\ufffe ]]> @all &"


@pytest.fixture(scope="module")
def twelve() -> Matrix:
    """ROW is violated up to 3.5.2 and on 3.8.1, satisfied elsewhere; OTHER wavers on 4.0.1."""
    bad = [*TWELVE[:3], "3.8.1"]
    pooled = Pooled(
        cases=[line for v in TWELVE for line in all_cases(v, violated=2 if v in bad else 0)]
        + [line for v in TWELVE for line in all_cases(v, OTHER, wavering=v == "4.0.1")],
        checks=[checks(v, row) for v in TWELVE for row in (ROW, OTHER)],
        violations=[violation(v, detail=f"{v} {EVIL}") for v in bad],
        paths=[{"kafka_version": v, "requirement": ROW, "path": f"evidence/{EVIL}", "place": 1} for v in bad],
    )
    known = known_deviation(versions=("3.3..3.5",), ticket="KAFKA-1")
    return matrix(pooled, *TWELVE, deviations=[known])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (TWELVE, "3.3.2–4.4.0"),
        (["3.9.2"], "3.9.2"),
        ([*TWELVE[:3], "4.4.0", "3.8.1"], "3.3.2–3.5.2, 3.8.1, 4.4.0"),
        ([], ""),
    ],
)
def test_columns_that_follow_each_other_are_one_span(labels: list[str], expected: str) -> None:
    assert spans(labels, TWELVE) == expected


def test_a_users_image_stands_beside_the_spans_and_parts_none() -> None:
    columns = ["3.9.2", "4.0.1", "4.0.1@mine:1", "4.1.1"]
    assert spans(["3.9.2", "4.0.1", "4.1.1"], columns) == "3.9.2–4.1.1"
    assert spans(columns, columns) == "3.9.2–4.1.1, 4.0.1@mine:1"


def test_findings_put_a_rows_columns_together_the_worst_first(twelve: Matrix) -> None:
    found = [(each.verdict, each.row.requirement, each.where) for each in findings(twelve, ["violated", "flaky"])]
    assert found == [("violated", ROW, "3.3.2–3.5.2, 3.8.1"), ("flaky", OTHER, "4.0.1")]


def test_a_known_deviation_is_told_for_the_columns_that_have_it_only(twelve: Matrix) -> None:
    line = next(line for line in summary(twelve).splitlines() if line.startswith(f"| {ROW}<br>"))
    link = "[KAFKA-1](https://issues.apache.org/jira/browse/KAFKA-1)"
    assert line.endswith(f"; known on 3.3.2–3.5.2: {link}; not known on 3.8.1 |")
    one, other = findings(twelve, ["violated", "flaky"])
    assert one.text.endswith("; known on 3.3.2–3.5.2: KAFKA-1; not known on 3.8.1")
    assert "known" not in other.text, "none is known of this row"


def test_a_known_deviation_of_all_columns_is_told_without_them() -> None:
    broken = Pooled(cases=all_cases("4.3.1", violated=1), checks=[checks("4.3.1")], violations=[violation("4.3.1")])
    (found,) = findings(matrix(broken, "4.2.0", "4.3.1", deviations=[known_deviation()]), ["violated"])
    assert found.text.endswith("; known: no ticket")


# Markdown


def test_markdown_tells_a_finding_once_with_its_versions_and_ticket(twelve: Matrix) -> None:
    (line,) = [line for line in markdown(twelve).splitlines() if line.startswith(f"| {ROW}<br>")]
    assert "| ✗ 3.3.2–3.5.2, 3.8.1 |" in line
    assert "case consumer: 3.8.1" in line
    assert "[KAFKA-1](https://issues.apache.org/jira/browse/KAFKA-1)" in line


def test_no_markup_of_a_broker_gets_into_markdown(twelve: Matrix) -> None:
    for text in (markdown(twelve), summary(twelve)):
        assert "<script>" not in text
        assert "[a](" not in text.replace("\\[", "").replace("\\]", "")
        assert "@all" not in text
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {ROW}<br>")]
        assert line.replace("\\|", "").count("|") == 4


def test_every_cell_is_told_under_all_rows(twelve: Matrix) -> None:
    text = markdown(twelve)
    details = text[text.index("<details>") :]
    for row in twelve.requirements:
        verdicts = [cell(twelve, label, row.requirement).verdict for label in TWELVE]
        if len(set(verdicts)) > 1:
            assert f"| {row.requirement} | {' | '.join(GLYPHS[verdict] for verdict in verdicts)} |" in details
        else:
            (line,) = [line for line in details.splitlines() if re.search(rf"[ ,]{row.requirement}(,|$)", line)]
            assert line.startswith(f"{GLYPHS[verdicts[0]]} {verdicts[0]} on every column: ")


def test_a_comment_holds_a_matrix_of_many_columns_in_which_everything_differs() -> None:
    everything = [row.id for row in shipped_rows()]
    columns = [f"3.{minor}.{patch}" for minor in range(3, 10) for patch in range(4)]
    pooled = Pooled(
        cases=[
            line
            for place, v in enumerate(columns)
            for number, row in enumerate(everything)
            for line in all_cases(v, row, violated=(place + number) % 2, held=0)
        ],
        checks=[checks(v, row) for v in columns for row in everything],
        violations=[violation(v, row, detail="|`*_" * 100) for v in columns for row in everything],
    )
    found = matrix(pooled, *columns)
    text = markdown(found, compared_matrix(found))
    assert 30_000 < len(text) <= COMMENT
    assert "More rows than a comment can hold" in text
    assert text.endswith("</details>\n")
    assert len(summary(found)) < 24_000


def test_changes_since_a_baseline_are_told_by_row(twelve: Matrix) -> None:
    green = Pooled(cases=[line for v in TWELVE for line in all_cases(v)], checks=[checks(v) for v in TWELVE])
    before = compared_matrix(matrix(green, *TWELVE))
    for text in (markdown(twelve, before), summary(twelve, before)):
        assert "### Since the baseline: 1 worse, 1 new, 3 known, 0 better, 11 other" in text
        assert f"| worse | {ROW} | 3.8.1 | satisfied | violated |" in text
        assert f"| known | {ROW} | 3.3.2–3.5.2 | satisfied | violated |" in text
        assert f"| new | {OTHER} | 4.0.1 | not-run | flaky |" in text
    assert "### Since the baseline: 0 worse, 0 new, 0 better, 0 other" in markdown(twelve, compared_matrix(twelve))
    assert "baseline" not in markdown(twelve)


def test_what_was_left_undecided_stands_beside_what_was_decided_the_most_often_excused_first(twelve: Matrix) -> None:
    def shown_of(*cases: dict[str, Any]) -> str:
        return markdown(matrix(Pooled(cases=cases, checks=[checks("3.8.1")]), "3.8.1"))

    def excused(name: str, **names: int) -> dict[str, Any]:
        return sample_matrix.case("3.8.1", name, held=7, excused=names)

    text = shown_of(excused("seldom", one=1), excused("a_x", one=2, other=3) | {"left_out": {"gone": 4}})
    lines = [line for line in text.splitlines() if "| 7 | 0 |" in line]
    assert lines == [
        f"| {ROW} a\\_x | 3.8.1 | 7 | 0 | one 2, other 3 | gone 4 |",
        f"| {ROW} seldom | 3.8.1 | 7 | 0 | one 1 | – |",
    ]
    assert "and 10 more, in matrix.json and on the page." in shown_of(*(excused(f"case-{n}", one=1) for n in range(70)))
    assert "Left undecided" not in markdown(twelve)


def test_examples_that_did_not_reach_their_end_are_told_by_check() -> None:
    attempts = Attempts({("p", "x"): AttemptCount(made=5, lost=2), ("p", ""): AttemptCount(made=6, errors=1)})
    pooled = Pooled(cases=all_cases("3.8.1"), checks=[checks("3.8.1", attempts=attempts)])
    assert "- 3.8.1 p: 2 lost their premise and 1 ended in trouble of the kit of 11 examples" in markdown(
        matrix(pooled, "3.8.1")
    )


def test_a_baseline_without_a_shared_column_is_said_to_be_one(twelve: Matrix) -> None:
    text = markdown(twelve, compared_matrix(matrix(Pooled(), "4.5.0", "4.6.0")))
    assert "### The baseline has none of these columns: it is of 4.5.0, 4.6.0\n" in text


def test_a_users_image_is_compared_with_the_release_of_its_version_unless_it_was_there(twelve: Matrix) -> None:
    image = "4.3.1@mine:1"
    now = compared_matrix(matrix(Pooled(), "4.3.1", label=image))
    assert column_pairs(compared_matrix(twelve), now) == [("4.3.1", image)]
    assert column_pairs(now, now) == [(image, image)]
    both = msgspec.structs.replace(now, kafka_versions=["4.3.1", image])
    assert column_pairs(both, now) == [(image, image)]
    assert column_pairs(both, both) == [("4.3.1", "4.3.1"), (image, image)]


# JUnit


def test_junit_says_of_each_cell_what_the_matrix_says(twelve: Matrix) -> None:
    root = ElementTree.fromstring(junit(twelve))
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [f"Kafka {label}" for label in TWELVE]
    for label, suite in zip(TWELVE, suites, strict=True):
        cases = suite.findall("testcase")
        assert len(cases) == len(twelve.requirements)
        for row, case in zip(twelve.requirements, cases, strict=True):
            judged = cell(twelve, label, row.requirement)
            tags = [child.tag for child in case]
            assert (case.get("name") or "").startswith(f"{row.requirement}: ")
            assert tags == ([OUTCOMES[judged.verdict]] if judged.verdict in OUTCOMES else [])
            assert [child.get("message", "").split(":")[0] for child in case] == ([judged.verdict] if tags else [])


def test_junits_counts_are_those_of_its_cases(twelve: Matrix) -> None:
    root = ElementTree.fromstring(junit(twelve))
    for node in [root, *root.findall("testsuite")]:
        found = Counter(child.tag for case in node.iter("testcase") for child in case)
        wanted = {"failures": found["failure"], "errors": found["error"], "skipped": found["skipped"]}
        assert {name: int(node.get(name, "")) for name in wanted} == wanted
        assert int(node.get("tests", "")) == len(list(node.iter("testcase")))
    assert int(root.get("failures", "")) == 4


def test_entries_to_look_at_are_told_as_loudly_as_a_new_red() -> None:
    """One no longer holds, the date of the other has passed: failures in JUnit, in red elsewhere."""
    entries = [known_deviation(ticket="KAFKA-1"), known_deviation(OTHER, race=True, look_again=date(2027, 1, 1))]
    green = Pooled(cases=all_cases("4.3.1"), checks=[checks("4.3.1")])
    found = matrix(green, "4.3.1", deviations=entries, run="270101-120000-a")
    wanted = [f"The known deviation of {ROW} no longer holds on 4.3.1", f"The known deviation of {OTHER} "]
    failures = [node.get("message", "") for node in ElementTree.fromstring(junit(found)).iter("failure")]
    shown = io.StringIO()
    terminal.show(found, shown)
    for lines in (
        failures,
        [line for line in markdown(found).splitlines() if line.startswith("> **✗")],
        shown.getvalue().splitlines(),
    ):
        assert all(any(text in line for line in lines) for text in wanted)
    assert int(ElementTree.fromstring(junit(found)).get("failures", "")) == 2
    assert "look at" not in markdown(matrix(green, "4.3.1"))


def test_only_what_was_judged_well_passes_in_junit() -> None:
    assert set(VERDICTS) - OUTCOMES.keys() == {"satisfied", "recorded"}
    assert {verdict for verdict, outcome in OUTCOMES.items() if outcome != "skipped"} == {"violated", "error"}


def test_junit_holds_no_character_that_xml_forbids(twelve: Matrix) -> None:
    text = junit(twelve).decode()
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", text)
    (failure, *_) = ElementTree.fromstring(text.encode()).iter("failure")
    assert "<script>" in failure.get("message", "")
    assert failure.get("type") == "known deviation"


# Badges


def test_badges_are_endpoint_documents_that_agree_with_the_matrix(twelve: Matrix) -> None:
    found = badges(twelve)
    assert set(found) == {"all.json", *(f"{label}.json" for label in TWELVE)}
    for badge in found.values():
        assert set(badge) == {"schemaVersion", "label", "message", "color"}
        assert badge["schemaVersion"] == 1
    assert found["3.4.1.json"] == {
        "schemaVersion": 1, "label": "Kafka 3.4.1", "message": "1 violated, 1 satisfied", "color": "red",
    }  # fmt: skip
    assert (found["4.0.1.json"]["color"], found["4.0.1.json"]["message"]) == ("yellow", "1 flaky, 1 satisfied")
    assert (found["4.4.0.json"]["color"], found["4.4.0.json"]["message"]) == ("brightgreen", "2 satisfied")
    assert (found["all.json"]["color"], found["all.json"]["message"]) == ("red", "4 violated, 1 flaky, 19 satisfied")


def test_a_column_that_lacks_lines_or_proved_nothing_has_no_green_badge() -> None:
    green = Pooled(cases=all_cases("4.3.1"), checks=[checks("4.3.1")])
    (_, cut) = badges(matrix(green, "4.3.1", complete=False)).values()
    assert cut["color"] == "yellow"
    assert "incomplete" in cut["message"]
    beside = matrix(green, "3.9.2", "4.3.1")
    assert badges(beside)["all.json"]["color"] == "brightgreen"
    beside.columns[0].incomplete.append("a shard is missing")
    assert [badge["color"] for badge in badges(beside).values()] == ["yellow", "yellow", "brightgreen"]
    assert badges(matrix(Pooled(), "4.3.1"))["all.json"]["color"] == "lightgrey"


def test_labels_that_are_no_file_names_get_names_of_their_own() -> None:
    columns = [
        matrix(Pooled(), "4.3.1", label=label).columns[0] for label in ("4.3.1@a/b:1", "4.3.1@a_b_1", "all", "../x")
    ]
    names = [file_of(column) for column in columns]
    assert len({*names, "all.json"}) == 5
    assert not [name for name in names if "/" in name or name.startswith(".json")]


# All of them


def test_what_is_written_is_the_same_each_time_and_holds_nothing_of_the_merge_before(
    twelve: Matrix, tmp_path: Path
) -> None:
    write_texts(matrix(Pooled(), "4.5.0"), Insights(), tmp_path)
    write_texts(twelve, Insights(), tmp_path)
    first = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_texts(twelve, Insights(), tmp_path)
    assert first == {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {str(path) for path in first} >= {"matrix.json", "insights.json", "matrix.md", "summary.md", "junit.xml"}
    assert Path("badges/4.5.0.json") not in first
    assert json.loads(first[Path("badges/3.3.2.json")])["color"] == "red"


# The terminal


def _shown(found: Matrix) -> list[str]:
    out = io.StringIO()
    terminal.show(found, out)
    return out.getvalue().splitlines()


def test_the_terminal_has_one_line_per_column_and_one_per_finding(twelve: Matrix) -> None:
    lines = _shown(twelve)
    for label in TWELVE:
        (line,) = [line for line in lines if line.split()[:1] == [label]]
        used = [verdict for verdict in VERDICTS if any(verdict in column.verdicts for column in twelve.columns)]
        column = next(column for column in twelve.columns if column.kafka_version == label)
        assert line.split()[1:] == [str(column.verdicts[verdict]) for verdict in used if verdict in column.verdicts]
    (finding,) = [line for line in lines if ROW in line]
    assert finding.startswith(f"✗ violated     3.3.2–3.5.2, 3.8.1  {ROW}: ")
    assert not [line for line in lines if "\x1b" in line or "\x00" in line]


def test_the_terminal_stays_short_where_nothing_is_well() -> None:
    everything = [row.id for row in shipped_rows()]
    pooled: dict[str, Any] = {
        "cases": [line for row in everything for line in all_cases("4.3.1", row, held=1, inputs=number(row))],
        "checks": [checks("4.3.1", row) for row in everything],
    }
    lines = _shown(matrix(Pooled(**pooled), "4.3.1"))
    assert len(lines) < 50
    (more,) = [line for line in lines if "more inconclusive, on the page" in line]
    assert int(more.split()[1]) > 100


def number(row: str) -> int:
    """A different count for each row, so that no two say the same."""
    return 1000 + sum(map(ord, row))


def test_every_verdict_has_a_style() -> None:
    styles: dict[Verdict, str] = terminal.STYLES
    assert set(styles) == set(VERDICTS)


def test_general_laws_are_a_family_of_their_own_after_the_kips() -> None:
    found = matrix(Pooled(), "4.3.1")
    families = [group.family for group in by_family(found)]
    assert families[0] == "KIP-101"
    assert families[-1] == "General laws"
    law = next(row for row in found.requirements if row.requirement == "GEN-01")
    assert (law.family, law.source) == ("General laws", "general laws: administration")
    assert "**General laws**" in markdown(found)
    assert b'classname="Kafka 4.3.1.General laws"' in junit(found)


def test_every_level_is_explained() -> None:
    assert set(LEVELS) == set(get_args(Level))
