"""The conformance statement of a column."""

from __future__ import annotations

from conformance.catalogue import shipped_rows
from conformance.catalogue.sources import SOURCES
from reports.matrix import Pooled
from reports.texts.statement import statements
from tests.support.sample_matrix import ROW, all_cases, checks, known_deviation, matrix, violation

GOOD, BAD = "3.9.2", "4.3.1"
OTHER = "KIP320-FETCH-03"


def pages(*labels: str, ticket: str = "KAFKA-1") -> dict[str, str]:
    pooled = Pooled(
        cases=[*all_cases(GOOD), *all_cases(BAD, violated=2), *all_cases(BAD, OTHER, held=1)],
        checks=[checks(GOOD), checks(BAD), checks(BAD, OTHER)],
        violations=[violation(BAD)],
        replays=[{"kafka_version": BAD, "requirement": ROW, "seen": 2, "tries": 3}],
    )
    return statements(matrix(pooled, GOOD, BAD, deviations=[known_deviation(ticket=ticket)]))


def test_each_column_has_a_page_that_says_what_holds_what_is_broken_and_what_is_open() -> None:
    found = pages()
    assert set(found) == {f"{GOOD}.md", f"{BAD}.md"}
    bad = found[f"{BAD}.md"]
    assert bad.startswith(f"# Conformance statement: Kafka {BAD}\n")
    assert "## What is broken: 1 rows" in bad
    broken = next(line for line in bad.splitlines() if line.startswith(f"- `{ROW}`"))
    assert "(must)" in broken
    assert "[KAFKA-1](https://issues.apache.org/jira/browse/KAFKA-1); seen in 2 of 3 replays" in broken
    assert f"- inconclusive: {OTHER}" in bad
    assert "## What is broken: 0 rows\n\nNone." in found[f"{GOOD}.md"]
    assert "| must | 1 | 0 |" in found[f"{GOOD}.md"]


def test_a_deviation_without_a_ticket_and_one_that_is_not_known_are_told_apart() -> None:
    assert "; known;" in pages(ticket="")[f"{BAD}.md"]
    assert "not known yet" in statements(matrix(Pooled(cases=all_cases(BAD, violated=1)), BAD))[f"{BAD}.md"]


def test_a_label_is_escaped_and_has_a_file_of_its_own() -> None:
    label = "4.3.1@<b>mine"
    ((name, text),) = statements(matrix(Pooled(), label)).items()
    assert name.startswith("4.3.1_b_mine-")
    assert name.endswith(".md")
    assert "<b>" not in text


def test_each_row_of_a_kip_has_its_page_with_revision_and_day_on_the_statement() -> None:
    assert {row.kip for row in shipped_rows() if row.kip} == set(SOURCES)
    text = pages()[f"{GOOD}.md"]
    for source in SOURCES.values():
        assert f"- {source.page}: {source.revision}; read {source.read}" in text
