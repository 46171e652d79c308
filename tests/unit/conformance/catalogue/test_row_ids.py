"""The ids of rows stay: none is lost, none is called otherwise without an alias."""

import sys

import pytest

from conformance.catalogue import CatalogueError, shipped_rows
from conformance.catalogue.load import Catalogue
from conformance.catalogue.row_ids import RowIds, row_ids


def lost(known: RowIds, rows: Catalogue) -> set[str]:
    """Ids that neither a row nor an alias has, rows that the list lacks, and aliases that lead nowhere."""
    today = {row.id for row in rows}
    return (set(known.ids) ^ (today | set(known.aliases))) | (set(known.aliases.values()) - today)


def test_every_id_that_a_row_ever_had_is_a_row_or_an_alias_of_one() -> None:
    known = row_ids()
    assert len(set(known.ids)) == len(known.ids)
    assert lost(known, shipped_rows()) == set(), "enter a new row in row-ids.toml; give a former id an alias"


def test_a_row_that_is_lost_renamed_or_not_entered_is_noticed() -> None:
    first, second, *rest = shipped_rows()
    ids = tuple(row.id for row in (first, second, *rest))
    assert lost(RowIds(ids, {}), Catalogue([first, *rest])) == {second.id}
    assert lost(RowIds(ids, {second.id: first.id}), Catalogue([first, *rest])) == set()
    assert lost(RowIds(ids, {second.id: "KIP0-GONE-01"}), Catalogue([first, *rest])) == {"KIP0-GONE-01"}
    assert lost(RowIds(ids[1:], {}), shipped_rows()) == {first.id}


def test_a_former_id_leads_to_the_row_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(iter(shipped_rows()))
    known = RowIds((), {"KIP0-OLD-01": row.id})
    monkeypatch.setattr(sys.modules["conformance.catalogue.load"], "row_ids", lambda: known)
    with pytest.raises(CatalogueError, match=f"'KIP0-OLD-01' is called {row.id} today"):
        shipped_rows()["KIP0-OLD-01"]
