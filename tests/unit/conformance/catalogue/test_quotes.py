"""The sentences of the KIPs that rows quote."""

import re
from collections import Counter

import pytest

from conformance.catalogue import shipped_rows
from conformance.catalogue.quotes import Quote, quotes, quotes_by_row
from conformance.catalogue.sources import SOURCES

LONGEST = 330
"""The maximum number of characters of a quote."""


def ends_of_sentences(text: str) -> int:
    """Count the places at which another sentence begins: after `e.g.` and within a name none does."""
    return len(re.findall(r"(?<!e\.g)[.!?][\"”’)]*\s+(?=\S)", text))


def wrong_with(quote: Quote) -> list[str]:
    """Return what is wrong with a quote."""
    rows = shipped_rows()
    found = [f"no row {row}" for row in quote.rows if row not in rows]
    found += [
        f"{row} is of {rows[row].section}"
        for row in quote.rows
        if row in rows and quote.section not in rows[row].section
    ]
    found += [] if quote.section in quotes().headings.get(quote.kip, ()) else [f"no heading {quote.section}"]
    found += ["more than one sentence"] if ends_of_sentences(quote.text) else []
    found += ["too long"] if len(quote.text) > LONGEST else []
    found += ["blanks"] if quote.text != " ".join(quote.text.split()) or not quote.text else []
    return found + ([] if quote.rows else ["no row was read from it"])


@pytest.mark.parametrize("quote", quotes().quote, ids=lambda quote: quote.rows[0])
def test_a_quote_is_at_most_a_sentence_below_a_heading_of_its_page(quote: Quote) -> None:
    assert wrong_with(quote) == []


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"section": "Leader Fetch"}, "no heading Leader Fetch"),
        ({"section": "Consumer Handling"}, "KIP320-FETCH-01 is of Proposed Changes / Leader Fetch Handling"),
        ({"kip": 595}, "no heading Leader Fetch Handling"),
        ({"text": "One ends. Another begins"}, "more than one sentence"),
        ({"text": "a " * LONGEST + "b"}, "too long"),
        ({"text": "a\nb"}, "blanks"),
        ({"rows": ("KIP320-FETCH-00",)}, "no row KIP320-FETCH-00"),
        ({"rows": ()}, "no row was read from it"),
    ],
)
def test_a_wrong_quote_is_found(changed: dict[str, object], wrong: str) -> None:
    right = {
        "kip": 320,
        "section": "Leader Fetch Handling",
        "text": "It does (e.g. this).",
        "rows": ("KIP320-FETCH-01",),
    }
    assert wrong_with(Quote(**right)) == []  # type: ignore[arg-type]
    assert wrong in wrong_with(Quote(**right | changed))  # type: ignore[arg-type]


def test_a_row_has_at_most_one_quote_and_each_heading_is_used() -> None:
    counts = Counter(row for quote in quotes().quote for row in quote.rows)
    assert [row for row, count in counts.items() if count > 1] == []
    assert {*counts} == {*quotes_by_row()}
    assert {*quotes().headings} == {*SOURCES}
    used = {(quote.kip, quote.section) for quote in quotes().quote}
    assert used == {(kip, section) for kip, sections in quotes().headings.items() for section in sections}


def test_most_rows_that_the_documents_require_first_are_quoted() -> None:
    first = [row.id for row in shipped_rows() if row.kip and row.priority == "P1" and row.level == "must"]
    assert sum(row in quotes_by_row() for row in first) / len(first) > 0.6, "a ratchet: raise it, never lower it"
