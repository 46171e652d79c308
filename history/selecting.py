"""The options that select a column once more, read from its label."""

from __future__ import annotations

import re

_FEATURES = re.compile(r"\+([a-z.]+=\d+)")


def plain(label: str) -> str:
    """The label without the feature levels that it ends with."""
    return _FEATURES.sub("", label)


def features_of(label: str) -> list[str]:
    """The options of the feature levels in a label: `4.3.1+transaction.version=1`."""
    return [word for feature in _FEATURES.findall(label) for word in ("--feature", feature)]


def selecting(label: str, image: str) -> list[str]:
    """The options that select a column: of its released version, the folder of its distribution or its image, and its features.

    Labels are `4.3.1`, `4.3.1@/opt/kafka` and `4.3.1@some/image:tag`; `image` is the column's.
    """
    version, _, own = plain(label).partition("@")
    if not own:
        column = ["--kafka-version", version]
    elif own.startswith("/"):
        column = ["--kafka-home", own]
    else:
        column = ["--kafka-image", image]
    return [*column, *features_of(label)]
