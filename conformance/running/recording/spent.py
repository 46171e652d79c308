"""How the workers spent their time in a run, one line per column."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from history.shards import Footer, Shard

ORDER = ("boot", "prepare", "act", "wait", "judge")


def seconds_spent(shards: Iterable[Shard]) -> dict[str, Counter[str]]:
    """Return the seconds of all workers by kind of work (`fixtures/spending.py`), for each column's label."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for shard in shards:
        if shard.header is not None:
            for line in shard.lines:
                if isinstance(line, Footer):
                    found[shard.header.column.label].update(Counter(line.spent))
    return dict(sorted(found.items()))


def spent_lines(shards: Sequence[Shard]) -> list[str]:
    """Return a line for each column, with seconds and shares of its workers' time; empty if none was recorded."""
    return [
        f"time  {label:10} {_shares_text(seconds)}"
        for label, seconds in seconds_spent(shards).items()
        if seconds.total()
    ]


def _shares_text(seconds: Counter[str]) -> str:
    total = seconds.total()
    parts = [f"{part} {seconds[part]:.0f} s ({seconds[part] / total:.0%})" for part in ORDER if seconds[part]]
    return ", ".join([*parts, f"of {total:.0f} s of all workers"])
