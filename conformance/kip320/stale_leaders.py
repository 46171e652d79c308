"""A leader unaware of its successor: the requests it must refuse, and those it must not commit (KIP-320,
KIP320-SC-05)."""

from typing import NamedTuple

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, premise
from conformance.core.topologies import LAG, SHRINKING
from conformance.rigs.log.epoch_requests import TOO_FEW
from conformance.rigs.log.lagging_watermark import watermark_and_end
from conformance.rigs.log.led_together import SpreadPartitions, led_by_one
from conformance.rigs.log.partition import Partition
from conformance.rigs.log.quiescence import at_rest
from conformance.rigs.log.scenarios import log_scenario
from conformance.rigs.log.unclean_elections import UncleanPartition, couple_on
from fixtures.faults.kinds.zombies import CutOffFromControllers
from fixtures.wire import NodeClient
from protocol.cluster import PartitionMetadata
from protocol.codes import Error
from protocol.messages import PartitionAnswer
from protocol.records import batch
from protocol.words import say

PATIENCE_MS = int(2.5 * LAG * 1000)
"""Milliseconds for which the write with acks=all waits: long enough for several ISR shrink requests of the stale leader."""


def answers_by_case(partition: Partition, node: NodeClient, epoch: int, current: int) -> dict[str, PartitionAnswer]:
    """Send all requests that have a current leader epoch; return the answers, by the cases of REPL-07."""
    where = (partition.name, partition.index)
    return {
        "fetch": node.fetch(partition.fetch_from(0, current_leader_epoch=current)),
        "list-offsets": node.list_offsets(*where, current_leader_epoch=current),
        "offset-for-leader-epoch": node.offset_for_leader_epoch(*where, epoch, current_leader_epoch=current),
    }


def all_answer(answers: dict[str, PartitionAnswer], error: Error) -> bool:
    return all(answer.error is error for answer in answers.values())


def check_two_epochs(couple: UncleanPartition, old: int, new: int) -> Claims:
    """Check REPL-07: each of the two leaders serves its own epoch and refuses the other's."""
    stale, true = couple.node(couple.first), couple.node(couple.second)
    served = answers_by_case(couple, stale, old, old), answers_by_case(couple, true, old, new)
    ignorant, fenced = answers_by_case(couple, stale, old, new), answers_by_case(couple, true, old, old)
    still = answers_by_case(couple, stale, old, old)
    for answers in (*served, still):
        yield premise(all_answer(answers, Error.NONE), f"both lead, each at its epoch: {say(answers)}")
    for case, answer in ignorant.items():
        yield held_if(answer.error is Error.UNKNOWN_LEADER_EPOCH, answer, row="KIP320-REPL-07", case=case)
    held = all_answer(fenced, Error.FENCED_LEADER_EPOCH)
    yield held_if(held, *fenced.values(), row="KIP320-REPL-07", case="true-leader")


class TwoLeaders(NamedTuple):
    """A partition with two leaders: one unaware of its replacement, at the old epoch, and its successor."""

    partition: Partition
    stale: NodeClient
    true: NodeClient
    old: int


def nothing_is_committed(rule: TwoLeaders, alone: int, meanwhile: int, patience_ms: int) -> Claims:
    """Check REPL-08: no write to the stale leader commits while the true one works. A write with acks=1 may succeed and
    still be lost."""
    partition, stale, true, old = rule
    before, end = watermark_and_end(partition, stale)
    partition.write(*[b"on the stale leader only"] * alone, acks=1, to=stale)
    partition.write(*[b"on the true leader"] * meanwhile, to=true)
    answers_by_case(partition, stale, old, old)
    for_all = batch(b"for all in-sync replicas")
    answer = stale.produce(partition.topic, partition.index, for_all, timeout_ms=patience_ms)
    after, grown = watermark_and_end(partition, stale)
    still = answers_by_case(partition, stale, old, old)
    yield premise(all_answer(still, Error.NONE), f"still a leader at epoch {old} when all was written: {say(still)}")
    yield premise(grown > end >= before, f"records at the stale leader, whose log ended at {end} and ends at {grown}")
    yield held_if(answer.error in TOO_FEW, answer, row="KIP320-REPL-08", case="acks-all")
    detail = f"high watermark {before}, then {after}; log end {end}, then {grown}"
    yield held_if(after == before, still["fetch"], row="KIP320-REPL-08", case="watermark", detail=detail)


@log_scenario(
    "KIP320-SC-05",
    "KIP320-REPL-07",
    "KIP320-REPL-08",
    rig=couple_on(SHRINKING),
    settled=integers(1, 4),
    alone=integers(1, 3),
    meanwhile=integers(1, 4),
)
def two_leaders(couple: UncleanPartition, settled: int, alone: int, meanwhile: int) -> Claims:
    """A leader cut off from the controllers knows no newer epoch and commits nothing; its successor fences its clients."""
    couple.write(*[b"on both"] * settled)
    before = couple.wait_until_whole()
    with couple.bench.faults(couple.topic).standing_fault(CutOffFromControllers(role="leader")):
        after = couple.await_leadership(couple.second)
        risen = after.leader_epoch > before.leader_epoch
        yield premise(risen, f"a newer epoch: {before}, {after}", promised=("KIP101-EPOCH-02", "moved"))
        yield from check_two_epochs(couple, before.leader_epoch, after.leader_epoch)
        rule = TwoLeaders(couple, couple.node(couple.first), couple.node(couple.second), before.leader_epoch)
        yield from nothing_is_committed(rule, alone, meanwhile, PATIENCE_MS)
        yield from check_two_epochs(couple, before.leader_epoch, after.leader_epoch)
    at_rest(couple)


# --- many at once


MANY = 8
"""Partitions per example, so that five examples have enough observations, which count by partition."""
SHORT_MS = 300


def successor_of(partition: Partition, before: PartitionMetadata) -> NodeClient:
    """Return the stale leader's successor, once it acts as leader."""
    others = [id for id in before.replicas if id != before.leader]

    def taken_over() -> NodeClient | None:
        led = (id for id in others if partition.acting_state(id, above=before.leader_epoch, leading=True))
        return next((partition.bench.node(id) for id in led), None)

    return partition.bench.eventually(taken_over, f"a successor of {before.leader} for {partition.name}", every=0.1)


@log_scenario(
    "KIP320-SC-05", "KIP320-REPL-08", rig=led_by_one(MANY), examples=5, alone=integers(1, 3), meanwhile=integers(1, 2)
)
def stale_leader_of_many(several: SpreadPartitions, alone: int, meanwhile: int) -> Claims:
    """A broker cut off from the controllers leads many partitions, and later has an uncommitted suffix in each to truncate."""
    befores = [partition.wait_until_whole() for partition in several.partitions]
    several.write(b"on all")
    with several.bench.faults(several.partitions[0].topic).standing_fault(CutOffFromControllers(role="leader")):
        stale = several.bench.node(befores[0].leader)
        for partition, before in zip(several.partitions, befores, strict=True):
            rule = TwoLeaders(partition, stale, successor_of(partition, before), before.leader_epoch)
            yield from nothing_is_committed(rule, alone, meanwhile, SHORT_MS)
    at_rest(*several.partitions)
