"""The ids that rows ever had, so that one that was cited can always be found."""

import tomllib
from functools import cache
from importlib.resources import files

import msgspec

_FILE = "row-ids.toml"


class RowIds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All ids that rows ever had, and for a former one the id of today."""

    ids: tuple[str, ...]
    aliases: dict[str, str]


@cache
def row_ids() -> RowIds:
    return msgspec.convert(tomllib.loads((files(__package__) / _FILE).read_text(encoding="utf-8")), RowIds)
