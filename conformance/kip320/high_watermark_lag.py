"""A new leader whose high watermark is still below the start of its epoch returns no latest offset (KIP-207)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from conformance.core.checks import Claims, held_if, premise, probe
from conformance.rigs.log.follower_fetches import PATIENCE, frozen_broker
from conformance.rigs.log.lagging_watermark import watermark_and_end
from conformance.rigs.log.partition import Partition, fresh_partition
from conformance.rigs.log.rotation import elect_preferred, put_first
from conformance.rigs.versions import BACK, choose_version
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.log import DEBUGGER, LATEST, ListedOffset
from protocol.records import batch
from strategies.inputs import RECORDS

AHEAD_MS = 60_000
"""Milliseconds by which uncommitted records are dated ahead, so that a lookup by timestamp matches only these."""


class LeaderAboveWatermark(NamedTuple):
    """A new leader whose epoch began at `start`, above its high watermark; `stamp` is the timestamp of the records in
    between."""

    node: NodeClient
    epoch: int
    start: int
    stamp: int

    def lags(self, partition: Partition) -> bool:
        watermark, end = watermark_and_end(partition, self.node)
        return watermark < self.start == end


@contextmanager
def lagging_leader(partition: Partition, records: int) -> Iterator[LeaderAboveWatermark]:
    """Freeze one in-sync follower, so that nothing commits; give uncommitted records and leadership to the other."""
    bench, state = partition.bench, partition.wait_until_whole()
    leader = bench.node(state.leader)
    successor, still = (id for id in state.replicas if id != state.leader)
    put_first(partition, successor, asked=state.leader)
    stamp = bench.now().unix_ms + AHEAD_MS
    with frozen_broker(bench, bench.name_of(still)):
        tail = batch(*[b"not committed"] * records, timestamp=stamp)
        end = partition.append(tail, acks=1, to=leader).base_offset + records
        heir = bench.node(successor)
        bench.eventually(lambda: end_of(partition, heir) == end, f"{successor} at the log end {end}")
        led = elect_preferred(partition, successor, state.leader_epoch)
        yield LeaderAboveWatermark(heir, led.leader_epoch, end, stamp)


def end_of(partition: Partition, node: NodeClient) -> int:
    return node.list_offsets(partition.name, partition.index, LATEST, replica_id=DEBUGGER).offset


def looked_up(partition: Partition, lagging: LeaderAboveWatermark, case: str, back: int) -> ListedOffset:
    low, high = (1, 4) if case == "old-version" else (5, None)
    return lagging.node.list_offsets(
        partition.name,
        partition.index,
        lagging.stamp if case == "timestamp" else LATEST,
        version=choose_version(partition.bench, "ListOffsets", back, low=low, high=high),
    )


CASES = {
    "latest": Error.OFFSET_NOT_AVAILABLE,
    "timestamp": Error.OFFSET_NOT_AVAILABLE,
    "old-version": Error.LEADER_NOT_AVAILABLE,
}


@probe("KIP320-LO-06", rig=fresh_partition(0), examples=3, smoke=False, records=RECORDS, back=BACK)
def no_latest_offset_below_the_epoch_start(partition: Partition, records: int, back: int) -> Claims:
    """While the high watermark is below the start of the epoch, lookups at or above it are refused; then they are answered."""
    bench, began = partition.bench, partition.bench.now().seconds
    with lagging_leader(partition, records) as lagging:
        lagged = [lagging.lags(partition)]
        answers = {case: looked_up(partition, lagging, case, back) for case in CASES}
        lagged.append(lagging.lags(partition))
        took = bench.now().seconds - began
    yield premise(
        all(lagged), f"the high watermark below the start {lagging.start} of epoch {lagging.epoch} all the time"
    )
    yield premise(took < PATIENCE, f"the follower frozen for {took:.1f} s, too short a time to be fenced")

    def caught_up() -> dict[str, ListedOffset] | None:
        found = {case: looked_up(partition, lagging, case, back) for case in CASES}
        return found if all(answer.error is Error.NONE for answer in found.values()) else None

    later = bench.eventually(caught_up, "lookups answered once the follower is back")
    yield premise(later["latest"].offset == lagging.start, f"then the latest offset is {lagging.start}")
    for case, error in CASES.items():
        yield held_if(answers[case].error is error, answers[case], later[case], case=case)
