"""Hashes of rows in older shards, computed by the former rule, which covered a row's words too.

`former_hashes.json` maps the id of a row to two hashes of the same row, taken on one day: by the former rule and by
today's. The former one is recognised as long as the latter is that of the row.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from conformance.catalogue.rows import Requirement

TABLE = files(__package__) / "former_hashes.json"


class FormerHash(msgspec.Struct, frozen=True, array_like=True):
    """Two hashes of one row: by the rule that covered its words, and by today's."""

    former: str
    current: str


def unchanged(row: Requirement, hash: str) -> bool:
    """True if a shard that holds this hash judged the row as it is today."""
    return hash == row.hash or FormerHash(hash, row.hash) == _former_hashes().get(row.id)


@cache
def _former_hashes() -> dict[str, FormerHash]:
    return msgspec.json.decode(TABLE.read_bytes(), type=dict[str, FormerHash])
