"""Small texts of the site: version ranges in words, since when a row is broken, names of files and anchors."""

from __future__ import annotations

import hashlib
import re

from reports.insights import Firsts


def anchor(label: str) -> str:
    """A column's label as a part of file names and anchors; labels that look alike afterwards get a hash."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")
    return plain if plain == label else f"{plain[:60]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"


def in_words(versions: str) -> str:
    """`3.3..3.7` as a reader would say it."""
    low, high = versions.split("..")
    if not high:
        return f"{low} and later" if low else "every version"
    if low == high:
        return low
    return f"{low} to {high}" if low else f"up to {high}"


def since(firsts: Firsts, *, race: bool = False) -> str:
    """Since when a row is broken, and whether it was mended; "" for one that no released version breaks.

    A `race` is met by luck, so that good versions say little.
    """
    if not firsts.first_bad:
        return ""
    if race:
        return f"Seen in {', '.join(firsts.bad)}; a race: where it was not met, nothing is known"
    began = f"Since {firsts.first_bad} " + (f"({firsts.last_good} was good)" if firsts.last_good else "or before")
    return f"{began}, " + (f"mended in {firsts.first_good}" if firsts.first_good else f"last seen in {firsts.bad[-1]}")
