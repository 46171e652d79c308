"""The options that select a column once more: as its shards recorded them, or read from its label."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FEATURES = re.compile(r"\+([a-z.]+=\d+)")


def plain(label: str) -> str:
    """The label without the feature levels that it ends with."""
    return _FEATURES.sub("", label)


def features_of(label: str) -> list[str]:
    """The options of the feature levels in a label: `4.3.1+transaction.version=1`."""
    return [word for feature in _FEATURES.findall(label) for word in ("--feature", feature)]


def selecting(label: str, image: str, recorded: Sequence[str] = ()) -> list[str]:
    """The options that select a column: those that its shards `recorded`.

    Shards of earlier versions of the kit recorded none: then they are read from the label (`4.3.1`, `4.3.1@/opt/kafka` or
    `4.3.1@some/image:tag`, and the feature levels after it); `image` is the column's.
    """
    if recorded:
        return list(recorded)
    version, _, own = plain(label).partition("@")
    if not own:
        column = ["--kafka-version", version]
    elif own.startswith("/"):
        column = ["--kafka-home", own]
    else:
        column = ["--kafka-image", image]
    return [*column, *features_of(label)]
