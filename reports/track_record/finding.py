"""A finding: a deviation of released versions of Kafka, as it was seen."""

from typing import Literal

import msgspec

from conformance.catalogue.applicability import numbers

Kind = Literal["open-bug", "gap", "question", "bug", "recorded"]
"""An open bug or a gap between document and releases; a question to Kafka's committers; a bug that was fixed; no violation."""

ENDS = ".."


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `docs/findings/<name>/finding.toml`; texts are Markdown.

    `rows` are the rows of the catalogue with the cases that are broken. `bad` and `good` are the versions that were run and
    found broken or not: single ones, or the ends of a span of columns. `ticket` is empty if there is none. `readme` is its place
    among the findings that README tells, in the words of `in_short`.
    """

    name: str = ""
    title: str
    kind: Kind
    ticket: str
    rows: dict[str, tuple[str, ...]]
    bad: tuple[str, ...]
    good: tuple[str, ...]
    undecided: str = ""
    fixed_in: str = ""
    sure: Literal["always", "race", "seldom"]
    found: str
    command: str
    seen: str
    story: str
    harm: str
    standing: str
    inferred: str
    readme: int = 0
    in_short: str = ""

    @property
    def first_bad(self) -> str:
        return min(ends(self.bad), key=numbers)

    @property
    def first_good(self) -> str:
        """The first version that was run and held after the last broken one; empty if there is none."""
        last = max(numbers(version) for version in ends(self.bad))
        later = [version for version in ends(self.good) if numbers(version) > last]
        return min(later, key=numbers, default="")

    @property
    def is_open(self) -> bool:
        """True if it is a violation that no release has mended, as far as is known."""
        return self.kind in ("open-bug", "gap", "question")


def ends(spans: tuple[str, ...]) -> list[str]:
    """Return the single versions, and both ends of each span."""
    return [version for span in spans for version in span.split(ENDS)]


def in_spans(version: str, spans: tuple[str, ...]) -> bool:
    """True if a version is one of these, or within a span of them."""
    return any(numbers(span.split(ENDS)[0]) <= numbers(version) <= numbers(span.split(ENDS)[-1]) for span in spans)
