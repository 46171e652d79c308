"""The request version that a check uses: drawn, so that a row is tested in all versions with the field."""

from hypothesis.strategies import SearchStrategy, integers

from conformance.core.bench import Bench

BACK: SearchStrategy[int] = integers(0, 23)
"""The number of versions below the newest; `choose_version` maps it into the column's range."""


def choose_version(bench: Bench, api: str, back: int, *, low: int, high: int | None = None) -> int:
    """Return the version `back` below the highest of `low` to `high` (None: the highest that the broker offers), modulo
    their number."""
    offered = bench.column.ranges[api]
    top = offered if high is None else min(high, offered)
    return top - back % (top - low + 1)
