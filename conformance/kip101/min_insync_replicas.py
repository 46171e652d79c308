"""Writes while fewer replicas are in sync than min.insync.replicas requires (KIP-101 as released)."""

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.core.topologies import QUICK_CLUSTER
from conformance.rigs.log.crashes import Crashing, on_brokers
from conformance.rigs.log.epoch_requests import TOO_FEW
from conformance.rigs.log.follower_fetches import frozen_broker
from conformance.rigs.log.lagging_watermark import watermark_and_end
from conformance.rigs.log.partition import PartitionData, new_topics
from protocol.codes import Error
from protocol.records import batch

ROW = "KIP101-INV-17"
STRICT_PAIR = on_brokers("strict_pair", QUICK_CLUSTER, 2, min_insync_replicas="2")
BESIDE = 5
"""The number of further partitions on the same brokers."""
MORE = 6
"""The number of further writes of each kind per example, in addition to the drawn ones."""


@probe(ROW, f"{ROW}-L", rig=STRICT_PAIR, smoke=False, refused=integers(0, 3), alone=integers(0, 3))
def too_few_are_in_sync(partition: Crashing, refused: int, alone: int) -> Claims:
    """With one of two required replicas in sync, acks=all is refused before the append, and acks=1 commits nothing."""
    bench, state = partition.bench, partition.wait_until_whole()
    follower = next(id for id in state.replicas if id != state.leader)
    topics = new_topics(bench, [state.replicas] * BESIDE, min_insync_replicas="2")
    pairs = [partition, *(Crashing(bench, PartitionData(topic, 0)) for topic in topics)]
    for one in pairs:
        one.wait_until_whole()
    with frozen_broker(bench, bench.name_of(follower)):
        for one in pairs:
            yield from writes_to_one_in_sync(one, state.leader, MORE + refused, MORE + alone)


def writes_to_one_in_sync(partition: Crashing, leader: int, refused: int, alone: int) -> Claims:
    """Observe writes with acks=all and acks=1 once the leader is alone in sync.

    The first write may succeed: Metadata shows the ISR a moment before the leader acts on it.
    """
    node = partition.bench.node(leader)
    partition.wait_until(lambda: partition.state_if_led_by(leader, isr={leader}), "the leader alone in sync")
    first, *more = (node.produce(partition.topic, 0, batch(b"for both")) for _ in range(1 + refused))
    committed, end = watermark_and_end(partition, node)
    seen = [(partition.write(b"for one", acks=1, to=node), node.fetch(partition.fetch_from(0))) for _ in range(alone)]
    still = partition.state_by(leader)
    yield premise(set(still.isr) == {leader}, f"one in sync to the end: {still}")
    for n, (written, read) in enumerate(seen):
        yield premise(written.base_offset == end + n, f"{n + 1} records more behind {end}: {written}")
        detail = f"high watermark {committed}, then {read.high_watermark} with the record at {written.base_offset}"
        kept = read.high_watermark == committed
        yield held_if(kept, written, read, case="watermark", detail=detail)
        yield kept_if(f"{ROW}-L", kept, written, read, case="watermark", detail=detail)
    yield held_if(first.error in TOO_FEW, first, case="refused")
    for answer in more:
        yield held_if(answer.error is Error.NOT_ENOUGH_REPLICAS, first, answer, case="refused")
