"""The end of a producer id's epochs (KIP-360, Safe Epoch Incrementing)."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from hypothesis.strategies import integers

from conformance.core.checks import Claim, held_if, premise, probe
from conformance.rigs.producers.combined_node import LAST_EPOCH, STAGE, Stage, StageProducer
from conformance.rigs.producers.sequences import fenced, gives
from fixtures.wire import NodeClient

IDS = 5
"""Side by side, since each takes as long as all."""


def exhaust(producer: StageProducer, node: NodeClient) -> None:
    """Bump to the last epoch that a client may hold, over a connection of its own."""
    answer = node.bump_epochs(
        producer.transactional_id, producer.producer_id, producer.epoch, LAST_EPOCH - producer.epoch
    )
    producer.go_on_at(producer.producer_id, answer.producer_epoch)


@probe("KIP360-INIT-15", "KIP360-INIT-16", rig=STAGE, smoke=False, examples=1, back=integers(1, 30_000))
def last_epoch_is_followed_by_a_new_producer_id(stage: Stage, back: int) -> Generator[Claim, None, None]:
    """The bump at 32766 gives a new producer id at epoch 0, and its retry the same; other epochs of the old id are fenced."""
    producers = [stage.transactional() for _ in range(IDS)]
    name = stage.broker.node
    nodes = [stage.bench.node(name, purpose=producer.transactional_id) for producer in producers]
    stage.bench.together([partial(exhaust, *each) for each in zip(producers, nodes, strict=True)])
    for producer in producers:
        shown = producer.described()
        reached = (shown.producer_id, shown.producer_epoch) == (producer.producer_id, LAST_EPOCH)
        yield premise(reached, f"at the last epoch: {shown}", promised=("KIP360-INIT-03", "untouched"))
        old, last = producer.producer_id, LAST_EPOCH
        rotated = producer.init(old, last)
        new = rotated.producer_id != old and gives(rotated, rotated.producer_id, 0)
        yield held_if(new, shown, rotated, row="KIP360-INIT-15", case="last-epoch")
        again, other = producer.init(old, last), producer.init(old, last - back)
        same = gives(again, rotated.producer_id, 0)
        yield held_if(same, rotated, again, row="KIP360-INIT-16", case="same-pair")
        yield held_if(fenced(other), rotated, other, row="KIP360-INIT-16", case="other-epoch")
        onwards, late = producer.init(rotated.producer_id, 0), producer.init(old, last)
        moved_on = gives(onwards, rotated.producer_id, 1) and fenced(late)
        yield held_if(moved_on, onwards, late, row="KIP360-INIT-16", case="after-next-bump")
