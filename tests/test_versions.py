import tomllib
from pathlib import Path

import pytest

from fixtures.errors import UnknownVersion
from fixtures.images import newest, newest_patches, patches, released, select

EVERY_MINOR = (
    "3.3.2",
    "3.4.1",
    "3.5.2",
    "3.6.2",
    "3.7.2",
    "3.8.1",
    "3.9.2",
    "4.0.2",
    "4.1.2",
    "4.2.2",
    "4.3.1",
    "4.4.0",
)


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ([], ("4.4.0",)),
        (["all"], EVERY_MINOR),
        (["released"], released()),
        (["3.7.0"], ("3.7.0",)),
        (["3.7"], ("3.7.2",)),
        (["3.9..4.1"], ("3.9.2", "4.0.2", "4.1.2")),
        (["4.3.."], ("4.3.1", "4.4.0")),
        (["..3.4"], ("3.3.2", "3.4.1")),
        (["3.9.2..4.0.2"], ("3.9.2", "4.0.2")),
        (["4.3", "3.9..4.0", "3.7.0", "4.0.2"], ("3.7.0", "3.9.2", "4.0.2", "4.3.1")),
    ],
)
def test_what_a_user_means(wanted: list[str], meant: tuple[str, ...]) -> None:
    assert select(wanted) == meant


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ([], released()),
        (["all"], released()),
        (["released"], released()),
        (["3.7"], ("3.7.0", "3.7.1", "3.7.2")),
        (["3.7.1..3.9.0"], ("3.7.1", "3.7.2", "3.8.0", "3.8.1", "3.9.0")),
        (["3.7..3.8"], ("3.7.0", "3.7.1", "3.7.2", "3.8.0", "3.8.1")),
        (["4.4.0", "4.3.."], ("4.3.0", "4.3.1", "4.4.0")),
    ],
)
def test_every_patch_of_what_a_user_names(wanted: list[str], meant: tuple[str, ...]) -> None:
    assert patches(wanted) == meant


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("3.7.9", ["3.7.0, 3.7.1, 3.7.2"]),
        ("3.10.0", ["3.8.1, 3.9.2, 4.0.2, 4.1.2"]),
        ("5.0", ["4.3.1, 4.4.0"]),
        ("2.8.2", ["3.3.2, 3.4.1"]),
        ("3.9..4.9", ["4.9", "4.3.1, 4.4.0"]),
    ],
)
def test_an_unknown_version_is_refused_with_near_ones(wanted: str, near: list[str]) -> None:
    with pytest.raises(UnknownVersion) as refused:
        select([wanted])
    assert all(text in str(refused.value) for text in near)


@pytest.mark.parametrize("wanted", ["newest", "", "4", "4.3.1.1", "v4.3.1", "4.3.x"])
def test_what_is_no_version_is_refused_with_an_example(wanted: str) -> None:
    with pytest.raises(UnknownVersion, match=r"is no Kafka version: write one such as `4\.4\.0`"):
        select([wanted])


def test_a_range_written_backwards_is_refused() -> None:
    with pytest.raises(UnknownVersion, match="the older end first"):
        select(["4.3..3.9"])


def test_the_file_lists_the_newest_patch_of_each_minor_first() -> None:
    minors = tomllib.loads(Path("fixtures/versions.toml").read_text())["minors"]
    for minor, listed in minors.items():
        numbers = [tuple(map(int, patch.split("."))) for patch in listed]
        assert numbers == sorted(numbers, reverse=True)
        assert all(patch.startswith(f"{minor}.") for patch in listed)
    assert newest_patches() == EVERY_MINOR
    assert newest() == EVERY_MINOR[-1]
    assert set(EVERY_MINOR) < set(released())
