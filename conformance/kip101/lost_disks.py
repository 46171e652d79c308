"""Acknowledged records survive the loss of fewer disks than min.insync.replicas (GEN-09, KIP-966)."""

from hypothesis.strategies import integers, sampled_from

from conformance.core.checks import Claims, premise
from conformance.rigs.log.lost_disks import LOST_DISKS, SHAPES, LostDisks, Shape
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.log.unclean_elections import SESSION
from history.due import START_TIMEOUT
from protocol.words import say


@log_scenario(
    "GEN-SC-02",
    "GEN-09",
    "GEN-09-L",
    rig=LOST_DISKS,
    examples=5,
    shape=sampled_from(SHAPES),
    records=integers(1, 3),
)
def all_but_one_lose_their_disks(disks: LostDisks, shape: Shape, records: int) -> Claims:
    """All replicas but one are killed and lose a record; they start before the last one, which was stopped cleanly.

    The judges compare the final leader's log with what was acknowledged.
    """
    disks.take_shape(shape)
    bench, holders = disks.bench, [*disks.victims, disks.holder]
    for name in disks.others:
        bench.processes.stop(name)
    disks.await_isr(holders)
    for one in disks.partitions:
        one.write(*[b"acknowledged"] * records, to=bench.node(disks.victims[0]))
    yield premise(disks.has_all_records(records), f"{disks.holder} has {records} records of each partition")
    bench.processes.stop(disks.holder)
    disks.await_isr(disks.victims)
    disks.lose_disks()
    bench.eventually(disks.victims_are_up, f"{say(disks.victims)} unfenced", START_TIMEOUT, due="node")
    disks.watch(2 * SESSION)
    for name in (disks.holder, *disks.others):
        bench.processes.start(name)
    for one in disks.partitions:
        one.wait_until_whole()
        one.write(b"at the end")
    at_rest(*disks.partitions)
