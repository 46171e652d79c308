"""The sentences of the KIPs from which rows were read, word for word, each with its heading."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec

_FILE = "quotes.toml"


class Quote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence of a KIP's page, or a part of one, below the heading `section`; `rows` are those that were read from it."""

    kip: int
    section: str
    text: str
    rows: tuple[str, ...]

    @property
    def source(self) -> str:
        return f"KIP-{self.kip}, {self.section}"


class Quotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All quotes, and the headings of each KIP's page below which they stand."""

    headings: dict[int, tuple[str, ...]]
    quote: tuple[Quote, ...]


@cache
def quotes() -> Quotes:
    text = (files(__package__) / _FILE).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Quotes, strict=False)


@cache
def quotes_by_row() -> Mapping[str, Quote]:
    """Return the quote of each row that has one."""
    return {row: quote for quote in quotes().quote for row in quote.rows}
