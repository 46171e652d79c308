"""The documents from which the rows of each KIP were read: which state of which page, and when.

A row's `section` is the heading in that page. Where a page told neither revision nor date, that is what stands here.
"""

from datetime import date
from typing import NamedTuple

from conformance.catalogue.rows import Requirement


class Source(NamedTuple):
    """A page of Kafka's wiki, the `revision` as the page itself tells it, and the day on which it was read."""

    page: str
    revision: str
    read: date


_READ = date(2026, 11, 21)

SOURCES: dict[int, Source] = {
    101: Source("KIP-101", "a comparison of two versions that tells neither number nor date", _READ),
    320: Source("KIP-320", "an early draft in the state Discussion that tells neither number nor date", _READ),
    360: Source("KIP-360", "version 5, not the current one, in the state Under Discussion", _READ),
    595: Source(
        "KIP-595", "a comparison of two versions that tells neither number nor date, in the state Accepted", _READ
    ),
    1251: Source("KIP-1251", "the page in the state Accepted, which tells neither number nor date", _READ),
}


def citation(row: Requirement) -> str:
    """Return where a row was read: page, heading, revision and day; empty for a general law, which has no page."""
    source = SOURCES.get(row.kip)
    return f"{source.page}, {row.section} ({source.revision}; read {source.read})" if source else ""
