"""Tenures of members by the records of a group, in either protocol."""

from __future__ import annotations

from conformance.judging.facts.group_log import LoggedGroup
from conformance.judging.groups.tenures import Tenure, Tenures
from history.readings import GroupRecord
from tests.support.groups import READ, assignment, classic_generation, departed

PLACE = str(READ.id), 1


def tenures_of(*records: GroupRecord) -> list[Tenure]:
    log = LoggedGroup(0, 1, "broker-1", 0, True, records, {str(READ.id): (READ.name, 0)})
    return Tenures(log).by_place[PLACE]


def test_a_tenure_lasts_while_a_partition_is_to_be_given_up() -> None:
    given_up = assignment("a", 1, {}, {1: 1}), assignment("a", 2, {})
    assert tenures_of(assignment("a", 1, {1: 1}), *given_up) == [Tenure("a", 0, 2)]


def test_a_tombstone_removes_a_member() -> None:
    assert tenures_of(assignment("a", 1, {1: 1}), departed("b"), departed("a")) == [Tenure("a", 0, 2, True)]


def test_a_generation_without_a_classic_member_removes_it() -> None:
    first, second = classic_generation(1, a=(0, 1), b=()), classic_generation(2, b=(1,))
    assert tenures_of(first, second) == [Tenure("a", 0, 1, True), Tenure("b", 1)]


def test_a_classic_member_that_is_assigned_others_is_not_removed() -> None:
    assert tenures_of(classic_generation(1, a=(1,)), classic_generation(2, a=(0,))) == [Tenure("a", 0, 1)]


def test_a_downgraded_member_has_its_partition_again() -> None:
    records = assignment("a", 1, {1: 1}), departed("a"), classic_generation(2, a=(1,))
    assert tenures_of(*records) == [Tenure("a", 0, 1, True), Tenure("a", 2)]
