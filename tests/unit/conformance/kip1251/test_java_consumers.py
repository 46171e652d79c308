"""Observations of the release's own Java consumers, at coordinators that are right and wrong."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.core.checks import Claim, ObservationClaim, PremiseClaim
from conformance.kip1251.java_consumers import observe_offsets, observe_reading, observe_sharing
from tests.support.java_consumers import FakeBench, FakeGroup, commit, consumers_of, line


def results(claims: Iterable[Claim]) -> list[str]:
    return [one.observation.result for one in claims if isinstance(one, ObservationClaim)]


def test_an_offset_that_the_group_has_lost_is_seen() -> None:
    group = FakeGroup(FakeBench())
    consumers = consumers_of(group)
    one = consumers.start()
    group.bench.lines[one.name] = [commit(1, {0: 2, 1: 2})]
    group.offsets = {0: 2, 1: 2}
    assert results(observe_reading(consumers, 2)) == ["held", "held"]
    group.offsets = {0: 2}
    assert results(observe_offsets(consumers, 2)) == ["held", "violated"]
    group.offsets = {0: 1, 1: 3}
    assert results(observe_offsets(consumers, 2)) == ["violated", "violated"], "one is lost, one is beyond the log end"
    assert results(observe_offsets(consumers, 3)) == ["violated", "held"], "a commit may be unanswered yet"


def test_records_that_no_consumer_has_read_are_no_offence_of_the_coordinator() -> None:
    group = FakeGroup(FakeBench())
    consumers = consumers_of(group)
    one = consumers.start()
    group.bench.lines[one.name] = [commit(1, {0: 2})]
    group.offsets = {0: 2}
    *others, last = observe_reading(consumers, 2)
    assert results(others) == ["held"]
    assert isinstance(last, PremiseClaim)
    assert not last.met


def test_a_partition_without_an_owner_is_seen() -> None:
    group = FakeGroup(FakeBench())
    consumers = consumers_of(group)
    one = consumers.start()
    group.bench.lines[one.name] = [line(1, "partitions_assigned", 0)]
    assert results(observe_sharing(consumers)) == ["violated"]
    group.bench.lines[one.name].append(line(2, "partitions_assigned", 1))
    assert results(observe_sharing(consumers)) == ["held"]


def test_a_consumer_that_ended_by_itself_is_no_offence_of_the_coordinator() -> None:
    group = FakeGroup(FakeBench())
    consumers = consumers_of(group)
    one = consumers.start()
    group.bench.ended.add(one.name)
    first, *_ = observe_sharing(consumers)
    assert isinstance(first, PremiseClaim)
    assert not first.met
