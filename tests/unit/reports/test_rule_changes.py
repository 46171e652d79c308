"""Where the rule changed: the first column that keeps a later promise, and the value of each column, on every page."""

from __future__ import annotations

import io
from pathlib import Path

from conformance.catalogue import shipped_rows
from history.observations import KEEPS, KEEPS_NOT
from reports.insights import Insights
from reports.matrix import Matrix, Pooled
from reports.merge import Merged
from reports.rule_changes import RuleChange, rule_changes, with_observations
from reports.site.pages import write_site
from reports.texts import terminal
from reports.texts.markdown import markdown, summary
from tests.support.sample_matrix import case, cell, checks, matrix

LATER = "KIP595-END-02-L"
OLD, NEW, NEWEST = "3.9.2", "4.0.2", "4.3.1"


def sample() -> Matrix:
    """Kept from 4.0 on; nothing was observed on 4.3.1."""
    kept = [
        case(OLD, "version-0", LATER, held=0, recorded=5),
        case(NEW, "version-0", LATER, held=0, recorded=5, kept=5),
    ]
    ran = [checks(version, LATER) for version in (OLD, NEW)]
    return matrix(Pooled(cases=kept, checks=ran), OLD, NEW, NEWEST)


def the_change(found: Matrix) -> RuleChange:
    return next(change for change in found.rule_changes if change.later == LATER)


def test_the_first_column_that_keeps_it_and_the_value_of_each() -> None:
    change = the_change(sample())
    assert change.requirement == "KIP595-END-02"
    assert change.promised == "KIP-996"
    assert (change.first, change.values) == (NEW, {OLD: KEEPS_NOT, NEW: KEEPS, NEWEST: ""})


def test_the_cell_is_recorded_with_its_value() -> None:
    found = sample()
    cells = [cell(found, version, LATER) for version in (OLD, NEW, NEWEST)]
    assert [(one.verdict, one.value) for one in cells] == [
        ("recorded", KEEPS_NOT), ("recorded", KEEPS), ("not-run", ""),
    ]  # fmt: skip


def test_every_later_row_has_a_line_and_the_observed_ones_are_shown() -> None:
    found = sample()
    assert [change.later for change in found.rule_changes] == [row.id for row in shipped_rows() if row.level == "later"]
    assert [change.later for change in with_observations(found.rule_changes)] == [LATER]
    assert rule_changes([], found.cells, found.kafka_versions) == []


def test_the_table_is_in_the_markdown_and_in_the_terminal() -> None:
    found, printed = sample(), io.StringIO()
    terminal.show(found, printed)
    for text in (markdown(found), summary(found), printed.getvalue()):
        after = text.split("Where the rule changed")[1]
        assert "KIP595-END-02" in after
        assert "KIP-996" in after
    assert f"| KIP-996 Pre-Vote | {NEW} | {KEEPS_NOT} | {KEEPS} | – |" in markdown(found)


def test_without_an_observation_there_is_no_table() -> None:
    nothing, printed = matrix(Pooled(), OLD), io.StringIO()
    terminal.show(nothing, printed)
    assert "Where the rule changed" not in markdown(nothing) + printed.getvalue()


def test_the_table_is_on_the_page(tmp_path: Path) -> None:
    write_site(Merged(matrix=sample(), insights=Insights()), shipped_rows(), tmp_path, None)
    page = (tmp_path / "index.html").read_text()
    part = page.split('id="rule-changes"')[1].split("</table>")[0]
    assert LATER.lower() in part.lower()
    assert "<td>KIP-996 Pre-Vote</td>" in part
    assert f"<td>{KEEPS_NOT}</td><td>{KEEPS}</td><td>–</td>" in part
