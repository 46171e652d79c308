"""Writes while fewer replicas are in sync than min.insync.replicas requires (KIP-101 as released)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.crashes import Crashing, on_brokers
from conformance.rigs.log.epoch_requests import TOO_FEW
from conformance.rigs.log.follower_fetches import frozen_broker
from conformance.rigs.log.lagging_watermark import watermark_and_end
from protocol.codes import Error
from protocol.records import batch

ROW = "KIP101-INV-17"
STRICT_PAIR = on_brokers("strict_pair", QUICK_CLUSTER, 2, min_insync_replicas="2")
MORE = 6
"""The number of further writes of each kind per example, in addition to the drawn ones."""


@probe(ROW, f"{ROW}-L", rig=STRICT_PAIR, smoke=False, refused=integers(0, 3), alone=integers(0, 3))
def too_few_are_in_sync(partition: Crashing, refused: int, alone: int) -> Claims:
    """With one of two required replicas in sync, acks=all is refused before the append, and acks=1 commits nothing.

    The first write may succeed: Metadata shows the ISR a moment before the leader acts on it.
    """
    bench, state = partition.bench, partition.wait_until_whole()
    leader, node = state.leader, bench.node(state.leader)
    [follower] = set(state.replicas) - {leader}
    with frozen_broker(bench, bench.name_of(follower)):
        partition.wait_until(lambda: partition.state_if_led_by(leader, isr={leader}), "the leader alone in sync")
        first, *more = (node.produce(partition.topic, 0, batch(b"for both")) for _ in range(1 + MORE + refused))
        committed, end = watermark_and_end(partition, node)
        seen = []
        for _ in range(MORE + alone):
            partition.write(b"for one", acks=1, to=node)
            seen.append(watermark_and_end(partition, node))
        still = partition.state_by(leader)
        yield premise(set(still.isr) == {leader}, f"one in sync to the end: {still}")
        for n, (watermark, grown) in enumerate(seen):
            yield premise(grown == end + 1 + n, f"{n + 1} records more behind {end}: {grown}")
            detail = f"high watermark {committed}, then {watermark} with the log end {grown}"
            yield held_if(watermark == committed, case="watermark", detail=detail)
            yield kept_if(f"{ROW}-L", watermark == committed, case="watermark", detail=detail)
        yield held_if(first.error in TOO_FEW, first, case="refused")
        for answer in more:
            yield held_if(answer.error is Error.NOT_ENOUGH_REPLICAS, first, answer, case="refused")
