"""The list of rows that neither a release nor a mutant has turned red is made of the data as it is."""

from conformance.catalogue.findings import ROOT
from tests.contract.never_red import PAGE, judged_rows, page, red_on_a_mutant, red_on_a_release


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / PAGE).read_text(encoding="utf-8").splitlines() == [*page()]


def test_a_row_is_on_the_page_unless_a_release_or_a_mutant_turns_it_red() -> None:
    listed = {line.split()[1] for line in page() if line.startswith("| ") and "-" in line.split()[1].strip("-: ")}
    red = red_on_a_release() | red_on_a_mutant()[0]
    assert "KIP595-LIVE-06" in red - listed
    assert listed == {row.id for row in judged_rows()} - red
