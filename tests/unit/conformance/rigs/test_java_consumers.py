"""Partitions and commits of the release's own Java consumers, by the lines that they write."""

from __future__ import annotations

import pytest

from tests.support.java_consumers import FakeBench, FakeGroup, commit, consumers_of, line


@pytest.fixture
def group() -> FakeGroup:
    return FakeGroup(FakeBench())


def test_it_has_what_was_assigned_and_not_revoked(group: FakeGroup) -> None:
    consumers = consumers_of(group)
    one = consumers.start()
    group.bench.lines[one.name] = [
        "a warning of the logger",
        line(1, "startup_complete"),
        line(2, "partitions_assigned", 0, 1),
    ]
    assert consumers.share().outcome is True
    group.bench.lines[one.name].append(line(3, "partitions_revoked", 1))
    assert consumers.share().outcome is False
    assert one.partitions == {0}


def test_each_has_to_have_one(group: FakeGroup) -> None:
    consumers = consumers_of(group)
    first, second = consumers.start(), consumers.start()
    group.bench.lines[first.name] = [line(2, "partitions_assigned", 0, 1)]
    assert consumers.share().outcome is False
    group.bench.lines[first.name].append(line(3, "partitions_revoked", 1))
    group.bench.lines[second.name] = [line(4, "partitions_assigned", 1)]
    assert consumers.share().outcome is True


def test_the_newest_accepted_commit_of_all_counts(group: FakeGroup) -> None:
    consumers = consumers_of(group)
    first, second = consumers.start(), consumers.start()
    group.bench.lines[first.name] = [commit(1, {0: 3, 1: 3}), commit(5, {0: 9}, success=False)]
    group.bench.lines[second.name] = [commit(4, {1: 7})]
    assert consumers.has_committed(3).outcome is False
    assert consumers.commits() == {0: 3, 1: 7}


def test_it_leaves_when_told_to(group: FakeGroup) -> None:
    consumers = consumers_of(group)
    one = consumers.start()
    group.bench.lines[one.name] = [
        line(1, "partitions_assigned", 0),
        line(2, "partitions_revoked", 0),
        line(3, "shutdown_complete"),
    ]
    consumers.leave()
    assert group.bench.signals == [(one.name, "TERM")]
    assert (consumers.present, one.partitions) == ([], frozenset())


def test_ownerships_are_told_in_the_order_of_the_clock(group: FakeGroup) -> None:
    consumers = consumers_of(group)
    first, second = consumers.start(), consumers.start()
    group.bench.lines[first.name] = [line(1, "partitions_assigned", 0, 1), line(7, "partitions_revoked", 1)]
    group.bench.lines[second.name] = [line(7, "partitions_assigned", 1)]
    consumers.share()
    consumers.tell_ownerships()
    wanted = [(first.name, "assigned", [0, 1]), (first.name, "revoked", [0]), (second.name, "assigned", [1])]
    assert group.bench.told == wanted


def test_the_newest_has_the_id_that_is_new(group: FakeGroup) -> None:
    consumers = consumers_of(group)
    first = consumers.start()
    group.members = ["a"]
    consumers.share()
    second = consumers.start()
    group.members = ["a", "b"]
    consumers.share()
    assert (first.member_id, second.member_id) == ("a", "b")
