"""Recorded examples whose drawn input has become a case: each maps to an existing case and the inputs that are drawn today."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.catalogue import shipped
from conformance.catalogue.former_cases import FORMER, current_case
from conformance.core.checks import all_checks

FENCED = "kip360.init_producer_id_fencing.wrong_id_or_epoch_is_fenced"
OLD = "kip360.replaced_producers.old_epoch_is_refused_by_the_coordinator"
FOREIGN = "kip360.replaced_producers.foreign_ids_are_refused_by_the_coordinator"
UNKNOWN = "kip360.sequences.unknown_producer_is_admitted"
SIMPLE = "kip1251.commits_by_non_members.no_member_id_in_a_group_without_members"
FETCH = "kip1251.offset_fetch.other_epoch"
RECORDED: list[tuple[str, str, dict[str, Any], str, dict[str, Any]]] = [
    (FENCED, "v3", {"wrong": "newer-epoch", "bumps": 2}, "v3-newer-epoch", {"bumps": 2}),
    (FENCED, "foreign-id", {"wrong": "newer-epoch", "bumps": 2}, "foreign-id", {"bumps": 2}),
    (FENCED, "v3-older-epoch", {"bumps": 2}, "v3-older-epoch", {"bumps": 2}),
    (OLD, "old-versions", {"any_request": "EndTxn"}, "old-end-txn", {}),
    (OLD, "tv2", {"any_request": "EndTxn"}, "tv2", {}),
    (FOREIGN, "foreign-id", {"unknown": True, "request": "EndTxn", "version": 1}, "unknown-end-txn", {"version": 1}),
    (FOREIGN, "foreign-id", {"unknown": False, "request": "AddOffsetsToTxn"}, "foreign-add-offsets", {}),
    (FOREIGN, "foreign-end-txn", {"version": 1}, "foreign-end-txn", {"version": 1}),
    (UNKNOWN, "tv2", {"sequence": 0}, "tv2-zero", {"sequence": 0}),
    (UNKNOWN, "tv2", {"sequence": 7}, "tv2", {"sequence": 7}),
    (UNKNOWN, "legacy", {"sequence": 0}, "legacy", {"sequence": 0}),
    (SIMPLE, "simple-group", {"emptied": True, "offset": 3}, "emptied-group", {"offset": 3}),
    (FETCH, "other-epoch", {"distance": -2}, "older-epoch", {"distance": 2}),
    (FETCH, "other-epoch", {"distance": 0}, "newer-epoch", {"distance": 1}),
    (FETCH, "newer-epoch", {"distance": 1}, "newer-epoch", {"distance": 1}),
    ("kip360.sequences.sequences_wrap", "inside-a-batch", {"before": 1}, "inside-a-batch", {"before": 1}),
]


@pytest.mark.parametrize(("check", "case", "inputs", "today", "drawn"), RECORDED)
def test_a_recorded_example_has_a_current_case(
    check: str, case: str, inputs: dict[str, Any], today: str, drawn: dict[str, Any]
) -> None:
    assert current_case(check, case, inputs) == (today, drawn)
    [row] = {id for id in all_checks()[check].own_rows if not id.endswith("-L")}
    assert today in {one.id for one in shipped()[row].cases}
    assert set(drawn) <= set(all_checks()[check].strategies)


def test_each_entry_names_a_check() -> None:
    assert set(FORMER) <= set(all_checks())
    assert {check for check, *_ in RECORDED} >= set(FORMER)
