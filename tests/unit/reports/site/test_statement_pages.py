"""Conformance statements as pages: they lead to the rows of the site, and foreign text stays text."""

from __future__ import annotations

from reports.matrix import Pooled
from reports.site.statement_pages import statement_pages, statement_path
from tests.support.sample_matrix import ROW, all_cases, checks, matrix, violation

GOOD, BAD = "3.9.2", "4.3.1"


def pages(detail: str = "not fenced") -> dict[str, str]:
    pooled = Pooled(
        cases=[*all_cases(GOOD), *all_cases(BAD, violated=2)],
        checks=[checks(GOOD), checks(BAD)],
        violations=[violation(BAD, detail=detail)],
    )
    return dict(statement_pages(matrix(pooled, GOOD, BAD)))


def test_each_column_has_a_page_and_its_source_beside_it() -> None:
    found = pages()
    assert [*found] == [f"statements/{label}.html" for label in (GOOD, BAD)]
    assert all(f"../statements/{label}.md" in found[f"statements/{label}.html"] for label in (GOOD, BAD))
    column = matrix(Pooled(), BAD).columns[0]
    assert statement_path(column, "md") == f"statements/{BAD}.md"


def test_rows_of_the_site_are_links_and_other_ids_are_not() -> None:
    page = pages()[f"statements/{BAD}.html"]
    assert f'<a href="../rows/{ROW}.html">{ROW}</a>' in page
    assert "../rows/KIP320-NONE-01.html" not in pages("as KIP320-NONE-01 says")[f"statements/{BAD}.html"]


def test_tables_scroll_and_numbers_stand_to_the_right() -> None:
    page = pages()[f"statements/{GOOD}.html"]
    assert '<div class="scroll"><table>' in page
    assert 'class="n"' in page
    assert "text-align" not in page


def test_foreign_text_is_no_markup() -> None:
    assert "<script>" not in pages("<script>alert(1)</script>")[f"statements/{BAD}.html"]
