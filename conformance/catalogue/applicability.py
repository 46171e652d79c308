"""The rows that a column can be tested for, decided by its declarations, never by a failed call."""

import math
import re
from collections.abc import Sequence
from functools import cache

import msgspec

_NEED = re.compile(r"^(?P<name>[A-Za-z][\w.]*) (?P<sign>>=|<) (?P<level>\d+)$")
_RANGE = re.compile(r"^(?P<low>\d+\.\d+(\.\d+)?)?\.\.(?P<high>\d+\.\d+(\.\d+)?)?$")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """A column's declarations: its version, and ranges as in `history.shards.Column`."""

    version: str
    ranges: dict[str, int] = {}


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: `4.3.1` and `4.3.1-SNAPSHOT` as (4, 3, 1)."""
    return tuple(int(part) for part in re.findall(r"\d+", version.split("-")[0])[:3])


@cache
def in_range(version: str, text: str) -> bool:
    """True if the version is inside `3.3..4.2`. Ends are inclusive; an end that is a minor includes all of its patches."""
    match = _RANGE.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a version range; write '3.3..4.2', '4.3..' or '..3.9.1'")
    low, high = numbers(match["low"] or ""), numbers(match["high"] or "")
    if high and low[: len(high)] > high:
        raise ValueError(f"{text!r} holds no version; write the older end first, as in '3.9..4.2'")
    have = numbers(version)
    return have >= low and (not high or have[: len(high)] <= high)


def is_open(text: str) -> bool:
    """True if a range has no upper end."""
    return text.endswith("..")


def ranges_overlap(one: str, other: str) -> bool:
    """True if some version is in both ranges."""
    ends = [_ends(one), _ends(other)]
    return max(low for low, _ in ends) <= min(high for _, high in ends)


def _ends(text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    low, _, high = text.partition("..")
    return numbers(low), (*numbers(high), math.inf)


@cache
def parse_need(text: str) -> tuple[str, str, int]:
    """Return a need's parts: `Fetch >= 9` as (name, sign, level)."""
    match = _NEED.match(text)
    if match is None:
        raise ValueError(
            f"{text!r} is no need; write 'Fetch >= 9', 'controller.Vote >= 1' or 'transaction.version < 2'"
        )
    return match["name"], match["sign"], int(match["level"])


def meets_needs(facts: Facts, needs: Sequence[str]) -> bool:
    """True if the declared levels meet all needs, or are unknown because the cluster never started."""
    return not needs or not facts.ranges or all(_meets_one(facts, *parse_need(text)) for text in needs)


def _meets_one(facts: Facts, name: str, sign: str, level: int) -> bool:
    have = facts.ranges.get(name, -1)
    return have >= level if sign == ">=" else have < level


def applies(facts: Facts, ranges: Sequence[str], needs: Sequence[str]) -> bool:
    """True if the version and declared levels are within the row's. Empty `ranges` do not restrict the version."""
    inside = not ranges or any(in_range(facts.version, text) for text in ranges)
    return inside and meets_needs(facts, needs)
