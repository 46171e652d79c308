"""The lines of examples, checks and replays, summed up together, since a table for each question would take a stage each.

Every line becomes *entries*: a name, a key to count under, and up to three numbers to add up. `reports.tables` makes its tables
from the sums; none of them grows with the number of observations.
"""

from itertools import zip_longest

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.pool.cells import Outdated, drop_outdated
from reports.sql import string_literal

OUTCOME, FAULT, MET, PREMISE, EXCUSE = "outcome", "fault", "met", "premise", "excuse"
"""The entries of examples: outcomes and faults by cell, faults by column, then premises and excuses."""
UNENDED, ENDED, CHECK, REPLAY = "unended", "ended", "check", "replay"
"""The entries of examples and of ended checks by check and shard, of checks by cell, and of replays."""
ATTEMPT, HINDRANCE = "attempt", "hindrance"
"""The entries of a check's examples by cell and case, and of hindrances by the tested system."""

NAMES = "array<string>"
KEY = ("entry", "kafka_version", "requirement", "check", "case", "name")
SUMS = ("a", "b", "c")


def sum_lines(lines: DataFrame, outdated: Outdated) -> DataFrame:
    """Sum up the entries of lines: one row per KEY, with its SUMS and the number of its entries, `times`.

    Entries of `outdated` rows are left out.
    """
    lines = lines.where("type IN ('example', 'check', 'replay')")
    single = lines.select("kafka_version", "shard", F.expr(f"inline({_ENTRIES})"))
    sums = [F.sum(name).alias(name) for name in SUMS]
    return drop_outdated(single, outdated).groupBy(*KEY).agg(*sums, F.count("*").alias("times"))


# Entries are built as SQL: building them column by column took thousands of calls to the JVM.


def _entry_sql(entry: str, *numbers: str, **under: str) -> str:
    """Return a struct of the entry's name, key and numbers as SQL; null becomes "" or 0."""
    names = {name: f"coalesce({under.get(name, string_literal(''))}, '')" for name in KEY[2:]}
    sums = {name: f"coalesce(CAST({number} AS long), 0L)" for name, number in zip_longest(SUMS, numbers, fillvalue="0")}
    fields = {"entry": string_literal(entry), **names, **sums}
    return f"named_struct({', '.join(f'{string_literal(name)}, {value}' for name, value in fields.items())})"


def _map_sql(items: str, name: str, entries: str) -> str:
    """Return an entry, or a list of entries, for each item as SQL; no entries for null."""
    return f"coalesce(transform({items}, {name} -> {entries}), array())"


def _concat_sql(*lists: str) -> str:
    return f"flatten(array({', '.join(lists)}))"


_ROWS = f"array_distinct(from_json(rows, '{NAMES}'))"
_FAULTS, _PREMISES = "map_entries(faults)", "map_entries(premises)"
_REACH = ("one.value.injected", "one.value.witnessed", "one.value.healed")
# Sums of floating-point numbers depend on their order, which is not fixed.
_MILLISECONDS = "round(coalesce(seconds, 0D) * 1000)"
_OF_EXAMPLE = _concat_sql(
    _map_sql(_ROWS, "row", _entry_sql(OUTCOME, requirement="row", name="outcome")),
    f"flatten({_map_sql(_ROWS, 'row', _map_sql(_FAULTS, 'one', _entry_sql(FAULT, *_REACH, requirement='row', name='one.key')))})",
    _map_sql(_FAULTS, "one", _entry_sql(MET, *_REACH, name="one.key")),
    _map_sql(
        _PREMISES, "one", _entry_sql(PREMISE, "one.value.met", "one.value.unmet", check="`check`", name="one.key")
    ),
    _map_sql(
        "excuses",
        "one",
        _entry_sql(
            EXCUSE, "one.times", requirement="one.requirement", check="`check`", case="one.`case`", name="one.excuse"
        ),
    ),
    f"array({_entry_sql(UNENDED, '1', _MILLISECONDS, check='`check`', case='shard')})",
)
# `case` is the shard of an ended check; `name` in CHECK is the text of the kit's trouble with which it ended.
_RAN = "outcome != 'cut-off' OR coalesce(examples, 0) > 0"
_ATTEMPTS = "map_entries(attempts)"
_ENDS_IN_ERRORS = "exists(map_values(attempts), one -> one.errors > 0)"
_TROUBLE = f"CASE WHEN outcome = 'error' OR {_ENDS_IN_ERRORS} THEN detail END"
_IS_OWN = "array_contains(own_rows, row)"
_OWN_CASE, _OWN_LOST = f"CASE WHEN {_IS_OWN} THEN one.key END", f"CASE WHEN {_IS_OWN} THEN one.value.lost END"
_OF_ATTEMPT = _entry_sql(
    ATTEMPT, "one.value.made", _OWN_LOST, "one.value.errors", requirement="row", check="`check`", case=_OWN_CASE
)
_HINDERED_ROWS = f"CASE WHEN hindrance != '' THEN {_ROWS} END"
_OF_CHECK = _concat_sql(
    f"array({_entry_sql(ENDED, 'examples', _MILLISECONDS, check='`check`', case='shard', name='outcome')})",
    _map_sql(
        _ROWS, "row", _entry_sql(CHECK, _RAN, "outcome = 'error'", requirement="row", check="`check`", name=_TROUBLE)
    ),
    f"flatten({_map_sql(_ROWS, 'row', _map_sql(_ATTEMPTS, 'one', _OF_ATTEMPT))})",
    _map_sql(_HINDERED_ROWS, "row", _entry_sql(HINDRANCE, requirement="row", name="hindrance")),
)
_OF_REPLAY = f"array({_entry_sql(REPLAY, 'seen', 'tries', requirement='requirement', name='evidence')})"
_ENTRIES = f"CASE type WHEN 'example' THEN {_OF_EXAMPLE} WHEN 'check' THEN {_OF_CHECK} ELSE {_OF_REPLAY} END"
