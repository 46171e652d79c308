"""Columns stand in the order of the versions that they are judged as; those without a place say why."""

from __future__ import annotations

import pytest

from history.shards import Column
from reports.order import Order, in_order
from reports.over_versions import row_firsts


class Placed(Column, frozen=True, kw_only=True):
    """A column as a merge has it."""

    @property
    def kafka_version(self) -> str:
        return self.label


def _column(version: str, label: str = "", *selection: str) -> Placed:
    return Placed(label=label or version, version=version, image="i", image_id="i", selection=list(selection))


def _found(*columns: Placed) -> Order:
    """The same whatever order the columns come in."""
    found = in_order(columns)
    again = in_order(columns[::-1])
    assert (again.labels, sorted(map(str, again.unordered))) == (found.labels, sorted(map(str, found.unordered)))
    return found


def test_a_snapshot_a_candidate_and_their_release_ascend_whatever_they_are_called() -> None:
    labels = _found(
        _column("4.5.0"),
        _column("3.10.0"),
        _column("3.9.2"),
        _column("4.5.0-SNAPSHOT", "nightly", "--kafka-home", "/opt/trunk", "--label", "nightly"),
        _column("4.5.0-rc10", "candidate ten", "--kafka-image", "c", "--as", "4.5.0-rc10"),
        _column("4.5.0-rc2"),
        _column("4.6.0-SNAPSHOT", "4.6.0-SNAPSHOT@/opt/trunk"),
    )
    assert labels.unordered == []
    assert labels.labels == [
        "3.9.2", "3.10.0", "nightly", "4.5.0-rc2", "candidate ten", "4.5.0", "4.6.0-SNAPSHOT@/opt/trunk",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (_column("3.9.2", "vendor", "--kafka-home", "/v", "--as", "3.9.2"), "a build of its own, made from 3.9.2"),
        (_column("4.3.1", "4.3.1@mine:1"), "a build of its own, made from 4.3.1"),
        (_column("7.9.0-ccs", "7.9.0-ccs@vendor"), "made from 7.9.0-ccs"),
        (_column("3.9.2-acme"), "made from 3.9.2-acme"),
        (_column("4.3.1", "4.3.1+share.version=1", "--kafka-version", "4.3.1", "--feature", "share.version=1"), "features"),
        (_column("4.5.0-SNAPSHOT", "nightly", "--kafka-home", "/t", "--server-property", "a.b=1"), "properties"),
    ],
)  # fmt: skip
def test_a_column_without_a_place_is_left_out_and_says_why(column: Placed, reason: str) -> None:
    found = _found(_column("3.9.1"), column)
    assert found.labels == ["3.9.1"]
    (left,) = found.unordered
    assert left.kafka_version == column.label
    assert reason in left.reason


def test_a_plus_in_a_name_that_a_user_chose_is_no_setting() -> None:
    assert _found(_column("4.5.0-SNAPSHOT", "trunk+fix", "--kafka-home", "/t")).labels == ["trunk+fix"]


def test_two_builds_of_one_snapshot_have_no_order() -> None:
    found = _found(_column("4.3.1"), _column("4.5.0-SNAPSHOT", "monday"), _column("4.5.0-SNAPSHOT", "tuesday"))
    assert found.labels == ["4.3.1"]
    assert sorted(one.kafka_version for one in found.unordered) == ["monday", "tuesday"]
    assert all("which is older is not known" in one.reason for one in found.unordered)


def test_a_published_candidate_keeps_its_place_beside_a_build_of_it() -> None:
    found = _found(_column("4.5.0-rc1"), _column("4.5.0-rc1", "rebuilt", "--kafka-home", "/t", "--as", "4.5.0-rc1"))
    assert found.labels == ["4.5.0-rc1"]
    assert [one.kafka_version for one in found.unordered] == ["rebuilt"]


def test_a_labelled_trunk_is_what_first_breaks_a_row() -> None:
    order = _found(_column("4.4.0"), _column("4.5.0-SNAPSHOT", "nightly", "--kafka-home", "/t", "--label", "nightly"))
    (first,) = row_firsts({"4.4.0": {"row": "satisfied"}, "nightly": {"row": "violated"}}, order.labels)
    assert (first.first_bad, first.last_good) == ("nightly", "4.4.0")
