"""The high watermark on a follower that truncated, when no more records are written."""

from collections.abc import Generator

from hypothesis.strategies import integers

from conformance.core.checks import Claim, Claims, held_if, premise
from conformance.rigs.log.crashes import PAIR, Crashing
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from protocol.log import FetchedPartition
from protocol.words import say

HIGH_WATERMARK_TIMEOUT = 10.0
"""The time limit in seconds: some twenty fetches of a follower, each of which waits half a second."""


@log_scenario("KIP101-SC-02", "KIP101-INV-18b", rig=PAIR, cases=["quiet"], kept=integers(1, 4), orphans=integers(1, 3))
def truncated_follower_learns_the_high_watermark(partition: Crashing, kept: int, orphans: int) -> Claims:
    """Both replicas are killed; one lost its last records and leads, the other truncates and has no high watermark.

    A write then shows that it can learn one.
    """
    leader, second = yield from leader_without_and_follower_with_orphans(partition, kept, orphans)
    partition.await_in_sync(lambda: partition.state_with_isr(leader, leader, second), "both in sync")
    reads: list[FetchedPartition] = []

    def equal() -> bool:
        reads[:] = partition.read(leader), partition.read(second)
        return reads[0].high_watermark == reads[1].high_watermark

    met = partition.bench.wait.becomes_true(equal, "one high watermark", HIGH_WATERMARK_TIMEOUT)
    marks, ends = [read.high_watermark for read in reads], [partition.log_end(id) for id in (leader, second)]
    yield premise(ends == [kept, kept] and marks[0] == kept, f"the orphans were truncated: {say(ends)}, {say(marks)}")
    detail = f"high watermark {marks[0]} on {leader}, {marks[1]} on {second}, looked at for {HIGH_WATERMARK_TIMEOUT:g} s at most"
    yield held_if(met, *reads, detail=detail)
    partition.write_acknowledged(b"after", by=leader)
    at_rest(partition)


def leader_without_and_follower_with_orphans(
    partition: Crashing, kept: int, orphans: int
) -> Generator[Claim, None, tuple[int, int]]:
    """Cut the orphans from the leader's log only, and start both replicas. Returns the ids of leader and follower; the
    follower is still starting."""
    follower, leader = partition.replicas
    bystander = partition.bystander()
    written = partition.write_acknowledged(*(b"record %d" % n for n in range(kept + orphans)))
    partition.kill(follower)
    before = partition.await_leadership(leader, isr={leader})
    partition.kill(leader)
    partition.wait_until(lambda: partition.state_without_leader(bystander), "no leader")
    lost = partition.disk(leader).cut_log(written[kept].offset)
    disk = partition.disk(follower)
    disk.remove_watermarks()
    had = [lost.before, disk.read_replica().log_end]
    yield premise(had == [kept + orphans] * 2, f"both had {kept + orphans} records: log ends {say(had)}")
    partition.start(leader)
    partition.await_leadership(leader, above=before.leader_epoch)
    partition.start(follower)
    return leader, follower
