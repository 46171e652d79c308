"""The bugs planted for the producer machine."""

from __future__ import annotations

from conformance.judging.judge import judge_all
from conformance.judging.judges import JUDGES
from conformance.rigs.log.partition import new_partition
from conformance.rigs.log.quiescence import at_rest
from history.observations import Observation
from protocol.records import batch
from tests.miniature.bench import mini_bench
from tests.miniature.core.cluster import MiniCluster
from tests.miniature.planted import Planted
from tests.miniature.producers.bugs import BUGS
from tests.miniature.producers.schedules import LEGAL, SCHEDULES


def retried_after_a_time_out(*bugs: str) -> list[Observation]:
    """Copy no batch to followers until its request has timed out; then let the producer retry.

    The machine severs links one by one, and the controllers act sooner.
    """
    cluster = MiniCluster("duplicates-appended" if bug == "retries-appended" else bug for bug in bugs)
    bench = mini_bench(cluster)
    partition = new_partition(bench, (1, 2, 3))
    given = bench.node(1).init_producer_id()
    known = batch(b"value", producer_id=given.producer_id, producer_epoch=0, base_sequence=0, timestamp=1)
    links = [(1, 2), (1, 3)]
    cluster.cut(links)
    bench.node(1).produce(partition.topic, 0, known)
    cluster.mend(links)
    bench.node(1).produce(partition.topic, 0, known)
    at_rest(partition)
    found = judge_all(JUDGES, bench.tape.history)
    assert "KIP360-INV-04" in {one.requirement for one in found}
    return [one for one in found if one.result == "violated"]


PLANTED = Planted(BUGS, SCHEDULES, LEGAL, {"retries-appended": retried_after_a_time_out})
