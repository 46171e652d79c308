"""DeleteRecords on the followers: log start, leader epoch cache, and the low watermark of the answer (KIP-107)."""

from hypothesis.strategies import integers, lists

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.core.waiting import WITHIN, Settled
from conformance.rigs.log.epoch_checkpoint import entries_of, read_epochs
from conformance.rigs.log.epoch_requests import start_of
from conformance.rigs.log.follower_fetches import PATIENCE, frozen_broker
from conformance.rigs.log.partition import Boundary, Partition, fresh_partition
from history.readings import File
from protocol.codes import Error
from protocol.words import say

END = 9
SHORT_MS = 500
"""Milliseconds for which DeleteRecords waits for a frozen follower."""


def expected_cache(partition: Partition, start: int) -> tuple[Boundary, ...]:
    """Return the leader epoch cache after the deletion: the entry that covers the new log start begins there, later
    ones are unchanged."""
    boundaries = partition.data.boundaries
    covering = max(b.epoch for b in boundaries if b.start <= start)
    return (Boundary(covering, start), *(b for b in boundaries if b.epoch > covering))


def entries_become(file: File, wanted: tuple[Boundary, ...]) -> bool:
    return entries_of(file) == wanted


def begins_at(partition: Partition, id: int, start: int) -> Settled:
    """Return whether the replica reaches this log start without further requests."""
    node = partition.bench.node(id)
    return partition.bench.wait.becomes_true(
        lambda: start_of(partition, node).offset == start, f"{id} starting at {start}", WITHIN
    )


def log_starts_agree(partition: Partition, start: int) -> Claims:
    """Observe the log start and leader epoch cache of every replica."""
    wanted = expected_cache(partition, start)
    for id in partition.await_agreement().replicas:
        came = begins_at(partition, id, start)
        yield held_if(came, case="log-start", detail=f"broker {id} came to start at {start}: {came}")
        file = read_epochs(partition, id, lambda file: entries_become(file, wanted))
        held = entries_become(file, wanted)
        yield held_if(
            held,
            file,
            case="entries",
            detail=f"{id}, trimmed to {start}, holds {say(entries_of(file))}, not {say(wanted)}",
        )


@probe(
    "KIP320-DR-02",
    rig=fresh_partition(2),
    smoke=False,
    offsets=lists(integers(1, END - 1), min_size=5, max_size=5, unique=True),
    which=integers(0, 1),
)
def deletions_reach_every_replica(partition: Partition, offsets: list[int], which: int) -> Claims:
    """After each DeleteRecords all replicas begin where the leader does; the answer waits for them, or times out."""
    bench, state = partition.bench, partition.wait_until_whole()
    leader = bench.node(state.leader)
    for offset in sorted(offsets):
        answer = leader.delete_records(partition.name, 0, offset)
        if answer.error is not Error.REQUEST_TIMED_OUT:
            held = (answer.error, answer.low_watermark) == (Error.NONE, offset)
            yield held_if(held, answer, case="low-watermark")
        yield from log_starts_agree(partition, offset)
    follower = [id for id in state.replicas if id != state.leader][which]
    with frozen_broker(bench, bench.name_of(follower)) as began:
        answer = leader.delete_records(partition.name, 0, -1, timeout_ms=SHORT_MS)
        took = bench.now().seconds - began
    yield premise(took < PATIENCE, f"{follower} frozen for {took:.1f} s, so that it counts as alive")
    yield held_if(answer.error is Error.REQUEST_TIMED_OUT, answer, case="low-watermark")
    yield from log_starts_agree(partition, END)
