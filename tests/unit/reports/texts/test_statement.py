"""The conformance statement of a column."""

from __future__ import annotations

import re

from conformance.catalogue import shipped_rows
from conformance.catalogue.rows import RECORDED
from conformance.catalogue.sources import SOURCES
from reports.matrix import Pooled, RunOrigin
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
    assert set(found) == {GOOD, BAD}
    bad = found[BAD]
    assert bad.startswith(f"# Conformance statement: Kafka {BAD}\n")
    judged = sum(row.level not in RECORDED for row in shipped_rows())
    assert re.search(r"\*\*Of \d+ requirements that apply, 0 held, 1 were broken and \d+ are open\.\*\*", bad)
    assert "## What is broken: 1 requirement\n" in bad
    broken = next(line for line in bad.splitlines() if line.startswith(f"- `{ROW}`"))
    assert "(must)" in broken
    assert "Seen in 2 of 3 replays. Known, [KAFKA-1](https://issues.apache.org/jira/browse/KAFKA-1)." in broken
    assert re.search(rf"^- inconclusive \(.*\): {OTHER}$", bad, re.MULTILINE)
    good = found[GOOD]
    assert "## What is broken: 0 requirements\n\nNothing." in good
    assert f"- KIP-320: {ROW}\n" in good, "what held is named"
    assert re.search(r"^\| must: .* \| \d+ \| 1 \| 0 \|", good, re.MULTILINE)
    assert re.search(r"^\| KIP-320 \| \d+ \| 1 \| 0 \|", good, re.MULTILINE)
    away = int(re.search(r"do not apply to this version \((\d+)\)", good)[1])  # type: ignore[index]
    applying = int(re.search(r"Of (\d+) requirements", good)[1])  # type: ignore[index]
    assert applying + away == judged, "each row that is judged is in one of the counts"


def test_a_deviation_without_a_ticket_and_one_that_is_not_known_are_told_apart() -> None:
    assert "Known, no ticket: r." in pages(ticket="")[BAD]
    assert "Not known yet." in statements(matrix(Pooled(cases=all_cases(BAD, violated=1)), BAD))[BAD]


def test_a_statement_can_be_cited_by_kit_build_and_run() -> None:
    column = matrix(Pooled(), BAD, run="271101-a", kit="0.1.0", profile="smoke")
    facts = column.columns[0]
    facts.digest = "abcdef0123456789"
    facts.origins = [
        RunOrigin(
            run="271101-a", began=f"2027-11-0{day}T01:00:00+00:00", host="h", commit="c" * 40, job="", attempt=1, image_digest=""
        )
        for day in (1, 2)
    ]  # fmt: skip
    assert (
        "> Kafka conformance kit 0.1.0 (cccccccccccc): conformance statement of Kafka 4.3.1 (build abcdef012345), profile smoke, "
        "run 271101-a of 2027-11-01 to 2027-11-02.\n"
    ) in statements(column)[BAD]


def test_doubts_about_a_column_are_told_on_its_own_statement_only() -> None:
    both = matrix(Pooled(), BAD, f"{BAD}-mine")
    both.columns[1].incomplete = ["a worker died"]
    texts = statements(both)
    assert "a worker died" in texts[f"{BAD}-mine"]
    assert "## Before you trust it" not in texts[BAD]


def test_a_label_is_escaped_and_has_a_file_of_its_own() -> None:
    label = "4.3.1@<b>mine"
    ((name, text),) = statements(matrix(Pooled(), label)).items()
    assert name.startswith("4.3.1_b_mine-")
    assert "<b>" not in text


def test_each_row_of_a_kip_has_its_page_with_revision_and_day_on_the_statement() -> None:
    assert {row.kip for row in shipped_rows() if row.kip} == set(SOURCES)
    text = pages()[GOOD]
    for source in SOURCES.values():
        assert f"- {source.page}: {source.revision}; read {source.read}" in text
