"""Pages that are made from the findings are up to date."""

from pathlib import Path

import pytest

from conformance.catalogue import CatalogueError
from reports.track_record.writing import BEGIN, END, stale_findings, with_block

ROOT = Path(__file__).parents[4]


def test_no_page_is_stale() -> None:
    assert stale_findings(ROOT) == [], "run ./kit python -m reports.track_record"


def test_a_block_is_replaced_between_its_marks() -> None:
    assert with_block("a.md", f"a\n{BEGIN}\nold\n{END}\nb", "new") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(CatalogueError, match=r"a\.md: it has to have one part between"):
        with_block("a.md", "a", "new")
