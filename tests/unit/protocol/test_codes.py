"""Numbers with names, and those that a newer Kafka adds."""

from __future__ import annotations

import msgspec
import pytest

from protocol.codes import Error
from protocol.errors import KitError
from protocol.groups import OffsetFetchAnswer
from protocol.messages import Versions


def test_an_unknown_number_is_a_code_of_its_own_and_survives_json() -> None:
    unknown = Error(999)
    assert (unknown.name, unknown, int(unknown)) == ("UNLISTED_999", Error(999), 999)
    assert msgspec.json.decode(msgspec.json.encode(unknown), type=Error) == unknown


def test_versions_are_an_inclusive_range() -> None:
    assert [version in Versions(2, 4) for version in (1, 2, 4, 5)] == [False, True, True, False]
    assert str(Versions(2, 4)) == "2-4"


def test_an_answer_without_the_one_partition_is_trouble_of_the_kit() -> None:
    with pytest.raises(KitError, match="holds 0"):
        OffsetFetchAnswer(version=9).only_partition  # noqa: B018
