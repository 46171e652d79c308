"""Small texts of the site: version ranges in words, runs of equal verdicts, names of files and anchors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import groupby

import msgspec

from conformance.judges.verdicts import Verdict
from reports.insights import Firsts
from reports.matrix import Cell


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring columns with one verdict."""

    verdict: Verdict
    first: str
    last: str
    count: int

    @property
    def where(self) -> str:
        if self.count == 1:
            return self.first
        return f"{self.first} and {self.last}" if self.count == 2 else f"{self.first} to {self.last}"


def spans(cells: Sequence[Cell]) -> list[Span]:
    """A row's cells, which are in the order of the columns, as runs of equal verdicts."""
    grouped = [(verdict, list(found)) for verdict, found in groupby(cells, key=lambda cell: cell.verdict)]
    return [
        Span(verdict=verdict, first=found[0].kafka_version, last=found[-1].kafka_version, count=len(found))
        for verdict, found in grouped
    ]


def anchor(label: str) -> str:
    """A column's label as a part of file names and anchors; labels that look alike afterwards get a hash."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")
    return plain if plain == label else f"{plain[:60]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"


def in_words(versions: str) -> str:
    """`3.3..3.7` as a reader would say it."""
    low, high = versions.split("..")
    if not high:
        return f"{low} and later" if low else "every version"
    return f"{low} to {high}" if low else f"up to {high}"


def since(firsts: Firsts) -> str:
    """Since when a row is broken, and whether it was mended; "" for one that no released version breaks."""
    if not firsts.first_bad:
        return ""
    if firsts.last_good:
        began = f"Broke in {firsts.first_bad}, was good in {firsts.last_good}"
    else:
        began = f"Broken since {firsts.first_bad}, the oldest version that tells"
    return f"{began}; " + (f"mended in {firsts.first_good}." if firsts.first_good else "not mended since.")
