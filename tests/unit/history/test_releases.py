"""The order of versions."""

from __future__ import annotations

import pytest

from history.releases import is_candidate, place_of_version, release_of

ASCENDING = [
    "3.9.2",
    "3.10.0",
    "4.3.1",
    "4.5.0-SNAPSHOT",
    "4.5.0-rc0",
    "4.5.0-rc2",
    "4.5.0-rc10",
    "4.5.0",
    "4.5.1-SNAPSHOT",
]


def test_a_snapshot_comes_before_the_candidates_of_its_release_and_these_before_it() -> None:
    assert sorted(sorted(ASCENDING), key=place_of_version) == ASCENDING
    assert len({place_of_version(version) for version in ASCENDING}) == len(ASCENDING)


@pytest.mark.parametrize("version", ["3.9.2-ccs", "3.9.2.redhat-00003", "3.9.2-inkless-1"])
def test_a_suffix_of_a_vendor_counts_for_nothing(version: str) -> None:
    assert place_of_version(version) == place_of_version("3.9.2")
    assert release_of(version) == version


def test_a_candidate_is_for_its_release() -> None:
    assert [version for version in ASCENDING if is_candidate(version)] == ["4.5.0-rc0", "4.5.0-rc2", "4.5.0-rc10"]
    assert {release_of(version) for version in ASCENDING if "4.5.0" in version} == {"4.5.0"}


def test_what_begins_with_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'trunk' is no version of Kafka.*4\.5\.0-rc1"):
        place_of_version("trunk")
