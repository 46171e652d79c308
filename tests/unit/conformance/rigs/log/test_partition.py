"""Partitions of a log rig that are deleted and created again, on the miniature."""

from __future__ import annotations

from conformance.rigs.log.partition import new_partition, recreate
from protocol.codes import Error
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster


def test_a_topic_that_is_created_again_is_served_by_its_own_id_only() -> None:
    former = new_partition(mini_bench(MiniCluster()))
    again = recreate(former)
    assert (again.name, again.topic.id) != (former.name, former.topic.id)
    assert again.name == former.name
    answers = [again.leader().fetch(one.fetch_from(0)).error for one in (former, again)]
    assert answers == [Error.UNKNOWN_TOPIC_ID, Error.NONE]
