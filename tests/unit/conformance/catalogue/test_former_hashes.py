"""Shards from before a row's hash left out its words are still of use, unless the row itself was changed."""

from __future__ import annotations

import msgspec
import pytest

from conformance.catalogue import Requirement, shipped
from conformance.catalogue.former_hashes import TABLE, unchanged

ROW = shipped()["KIP320-FETCH-06"]
FORMER: dict[str, tuple[str, str]] = msgspec.json.decode(TABLE.read_bytes())


def test_a_row_is_recognised_by_its_hash_and_by_its_former_one() -> None:
    assert unchanged(ROW, ROW.hash)
    assert unchanged(ROW, FORMER[ROW.id][0])
    assert not unchanged(ROW, "another")


def test_other_words_leave_the_former_hash_valid() -> None:
    assert unchanged(msgspec.structs.replace(ROW, statement="Reworded.", title="T"), FORMER[ROW.id][0])


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(msgspec.structs.replace(ROW, needs=["Fetch >= 9"]), id="applicability"),
        pytest.param(msgspec.structs.replace(ROW, cases=ROW.cases[:1]), id="cases"),
        pytest.param(msgspec.structs.replace(ROW, id="KIP320-FETCH-99"), id="id"),
    ],
)
def test_a_row_that_was_changed_has_no_former_hash(changed: Requirement) -> None:
    assert not unchanged(changed, FORMER[ROW.id][0])


def test_the_table_holds_two_hashes_of_each_row_once() -> None:
    former, current = zip(*FORMER.values(), strict=True)
    assert len(FORMER) == len(set(former)) == len(set(current)) == 367
