"""Rows that nothing observes say so, and no others do."""

from __future__ import annotations

import pytest

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.core.registry import _require_observed, checks_by_row
from conformance.judging.judges import JUDGES

OBSERVED = {*checks_by_row(), *(judge.row for judge in JUDGES)}
UNOBSERVED = next(row.id for row in shipped_rows() if row.unobserved)


def test_a_row_that_nothing_observes_is_refused_by_name() -> None:
    with pytest.raises(CatalogueError, match=r"KIP320-FETCH-02: no judge and no check observes it\. Write one, or"):
        _require_observed(OBSERVED - {"KIP320-FETCH-02"})


def test_a_row_that_says_so_and_is_observed_is_refused_by_name() -> None:
    with pytest.raises(CatalogueError, match=rf"{UNOBSERVED}: it is observed\. Remove `unobserved = true`"):
        _require_observed(OBSERVED | {UNOBSERVED})
