"""The options that select a column once more."""

from __future__ import annotations

import pytest

from history.selecting import features_of, plain, selecting


@pytest.mark.parametrize(
    ("label", "options"),
    [
        ("4.3.1", ["--kafka-version", "4.3.1"]),
        ("4.3.1+transaction.version=1", ["--kafka-version", "4.3.1", "--feature", "transaction.version=1"]),
        ("4.3.1@mine:1", ["--kafka-image", "registry/mine:1"]),
        ("4.3.1@kafka-conformance/home:0a1b", ["--kafka-image", "registry/mine:1"]),
        ("4.5.0-SNAPSHOT@/opt/my+kafka", ["--kafka-home", "/opt/my+kafka"]),
        (
            "4.3.1@mine:1+group.version=1+share.version=0",
            ["--kafka-image", "registry/mine:1", "--feature", "group.version=1", "--feature", "share.version=0"],
        ),
    ],
)
def test_a_label_gives_the_options_of_its_column(label: str, options: list[str]) -> None:
    assert selecting(label, "registry/mine:1") == options


def test_the_features_are_the_end_of_a_label() -> None:
    label = "4.3.1@mine:1+group.version=1"
    assert (plain(label), features_of(label)) == ("4.3.1@mine:1", ["--feature", "group.version=1"])
