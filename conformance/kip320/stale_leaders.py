"""A leader that missed its replacement: what it must own up to, and what it must not do (KIP-320, SC-05)."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from hypothesis.strategies import integers

from conformance.checks import Said, held_if, premise, scenario
from conformance.kip320.replicas import TOO_FEW
from conformance.rigs.behind import watermark_and_end
from conformance.rigs.rest import at_rest
from conformance.rigs.unclean import Couple, couple_on
from conformance.topologies import LAG, SHRINKING
from fixtures.faults.zombies import CutOffFromControllers
from fixtures.wire import Error, NodeClient
from fixtures.wire.calls import PartitionAnswer
from fixtures.wire.records import batch

PATIENCE_MS = int(2.5 * LAG * 1000)
"""How long the write with acks=all waits: in that time the stale leader has asked for a smaller ISR more than once."""


def asked(couple: Couple, node: NodeClient, epoch: int, current: int) -> dict[str, PartitionAnswer]:
    """All that can be asked with a current epoch, and the answers by the cases of REPL-07."""
    where = (couple.name, couple.index)
    return {
        "fetch": node.fetch(couple.topic, couple.index, 0, current_leader_epoch=current),
        "list-offsets": node.list_offsets(*where, current_leader_epoch=current),
        "offset-for-leader-epoch": node.offset_for_leader_epoch(*where, epoch, current_leader_epoch=current),
    }


def all_say(answers: dict[str, PartitionAnswer], error: Error) -> bool:
    return all(answer.error is error for answer in answers.values())


def of_two_epochs(couple: Couple, old: int, new: int) -> Iterator[Said]:
    """REPL-07: both leaders are asked by clients of both epochs."""
    stale, true = couple.node(couple.first), couple.node(couple.second)
    served = asked(couple, stale, old, old), asked(couple, true, old, new)
    ignorant, fenced = asked(couple, stale, old, new), asked(couple, true, old, old)
    still = asked(couple, stale, old, old)
    for answers in (*served, still):
        yield premise(all_say(answers, Error.NONE), f"both lead, each at its epoch: {answers}")
    for case, answer in ignorant.items():
        yield held_if(answer.error is Error.UNKNOWN_LEADER_EPOCH, answer, row="KIP320-REPL-07", case=case)
    held = all_say(fenced, Error.FENCED_LEADER_EPOCH)
    yield held_if(held, *fenced.values(), row="KIP320-REPL-07", case="true-leader")


def nothing_is_committed(couple: Couple, old: int, alone: int, meanwhile: int) -> Iterator[Said]:
    """REPL-08: writes to the stale leader, with the true one at work. acks=1 may be answered 0, and the record lost."""
    stale, true = couple.node(couple.first), couple.node(couple.second)
    before, end = watermark_and_end(couple, stale)
    couple.write(*[b"on the stale leader only"] * alone, acks=1, to=stale)
    couple.write(*[b"on the true leader"] * meanwhile, to=true)
    answer = stale.produce(couple.topic, couple.index, batch(b"for all in-sync replicas"), timeout_ms=PATIENCE_MS)
    after, grown = watermark_and_end(couple, stale)
    still = asked(couple, stale, old, old)
    yield premise(all_say(still, Error.NONE), f"still a leader at epoch {old} when all was written: {still}")
    yield premise(grown > end >= before, f"records at the stale leader, whose log ended at {end} and ends at {grown}")
    yield held_if(answer.error in TOO_FEW, answer, row="KIP320-REPL-08", case="acks-all")
    detail = f"high watermark {before}, then {after}; log end {end}, then {grown}"
    yield held_if(after == before, still["fetch"], row="KIP320-REPL-08", case="watermark", detail=detail)


@scenario(
    "SC-05",
    "KIP320-REPL-07",
    "KIP320-REPL-08",
    rig=couple_on(SHRINKING),
    settled=integers(1, 4),
    alone=integers(1, 3),
    meanwhile=integers(1, 4),
)
def two_leaders(couple: Couple, settled: int, alone: int, meanwhile: int) -> Generator[Said, None, None]:
    """A leader that no controller hears knows of no newer epoch and commits nothing, while its successor fences its clients."""
    couple.write(*[b"on both"] * settled)
    before = couple.whole()
    with couple.bench.faults(couple.topic).under(CutOffFromControllers(role="leader")):
        after = couple.acts_as_leader(couple.second)
        yield premise(after.leader_epoch > before.leader_epoch, f"a newer epoch: {before}, {after}")
        yield from of_two_epochs(couple, before.leader_epoch, after.leader_epoch)
        yield from nothing_is_committed(couple, before.leader_epoch, alone, meanwhile)
        yield from of_two_epochs(couple, before.leader_epoch, after.leader_epoch)
    at_rest(couple)
