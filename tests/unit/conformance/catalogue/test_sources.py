"""Where the rows were read."""

from conformance.catalogue import shipped_rows
from conformance.catalogue.sources import SOURCES, citation


def test_each_row_of_a_kip_is_cited_with_page_heading_revision_and_day() -> None:
    for row in shipped_rows():
        source = SOURCES.get(row.kip)
        if source is None:
            assert (row.kip, citation(row)) == (0, "")
            continue
        assert row.section
        assert citation(row) == f"{source.page}, {row.section} ({source.revision}; read {source.read})"
