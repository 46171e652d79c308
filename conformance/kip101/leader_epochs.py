"""The leader epoch as the controller assigns it and brokers return it (KIP-101, Leader Epoch)."""

from collections.abc import Callable

from hypothesis.strategies import integers

from conformance.core.checks import Claims, held_if, kept_if, premise, probe
from conformance.rigs.log.follower_fetches import PAIRS, SharedFollower, await_whole_cluster, frozen_broker
from conformance.rigs.log.partition import Partition, partition_at_epoch
from fixtures.wire import NodeClient
from protocol.codes import Error
from protocol.messages import PartitionAnswer
from protocol.words import say_change

FENCE_ERRORS = (Error.FENCED_LEADER_EPOCH, Error.UNKNOWN_LEADER_EPOCH)


def request_of(node: NodeClient, partition: Partition, case: str) -> Callable[[int], PartitionAnswer]:
    """Return a function that sends a case's request with a given current leader epoch."""
    if case == "fetch":
        return lambda epoch: node.fetch(partition.fetch_from(0, current_leader_epoch=epoch))
    if case == "list-offsets":
        return lambda epoch: node.list_offsets(partition.name, 0, current_leader_epoch=epoch)
    return lambda epoch: node.offset_for_leader_epoch(partition.name, 0, 0, current_leader_epoch=epoch)


@probe(
    "KIP101-EPOCH-01",
    rig=partition_at_epoch(3),
    cases=["fetch", "list-offsets", "offset-for-leader-epoch"],
    around=integers(1, 3),
)
def metadata_epoch_is_where_the_fence_turns(partition: Partition, case: str, around: int) -> Claims:
    """Below the epoch in a broker's Metadata it answers 74, above it 75, and at it neither."""
    settled = partition.wait_until_whole()
    for broker in settled.replicas:
        ask = request_of(partition.bench.node(broker), partition, case)
        known = partition.state_by(broker).leader_epoch
        below = [ask(known - n) for n in range(around, 0, -1)]
        at, above = ask(known), [ask(known + n) for n in range(1, around + 1)]
        yield premise(
            partition.await_agreement().leader_epoch == settled.leader_epoch, f"still epoch {settled.leader_epoch}"
        )
        turns = (
            all(answer.error is Error.FENCED_LEADER_EPOCH for answer in below)
            and at.error not in FENCE_ERRORS
            and all(answer.error is Error.UNKNOWN_LEADER_EPOCH for answer in above)
        )
        yield held_if(turns, *below, at, *above)


@probe("KIP101-EPOCH-01", rig=partition_at_epoch(3), cases=["topic-partitions"])
def describe_topic_partitions_agrees_with_metadata(partition: Partition, case: str) -> Claims:
    """DescribeTopicPartitions returns the same epoch as Metadata."""
    settled = partition.wait_until_whole()
    for broker in settled.replicas:
        node = partition.bench.node(broker)
        metadata = node.metadata([partition.name])
        described = node.describe_topic_partitions([partition.name])
        yield premise(
            partition.await_agreement().leader_epoch == settled.leader_epoch, f"still epoch {settled.leader_epoch}"
        )
        epochs = [answer.topics[0].partition(0).leader_epoch for answer in (metadata, described)]
        yield held_if(epochs[0] == epochs[1], metadata, described)


@probe("KIP101-EPOCH-03", "KIP101-EPOCH-03-L", rig=PAIRS, examples=1)
def isr_changes_and_the_epoch(pairs: SharedFollower, expected: str) -> Claims:
    """While the leader stays, ISR growth keeps the epoch; a shrink raises it by 1 only before metadata.version 12."""
    before = pairs.states()
    with frozen_broker(pairs.bench, pairs.follower):
        shrunk = pairs.states_with_isr(1)
    await_whole_cluster(pairs.bench)
    grown = pairs.states_with_isr(2)
    raised = 1 if expected == "SHRINK_RAISES" else 0
    for old, small, new in zip(before, shrunk, grown, strict=True):
        yield premise(old.leader == small.leader == new.leader, f"led by {old.leader} all the time")
        detail = f"as the ISR shrank, {say_change(old, small)}; as it grew, {say_change(small, new)}"
        yield held_if(small.leader_epoch == old.leader_epoch + raised, case="shrink", detail=detail)
        yield kept_if("KIP101-EPOCH-03-L", small.leader_epoch == old.leader_epoch, case="shrink", detail=detail)
        yield held_if(new.leader_epoch == small.leader_epoch, case="growth", detail=detail)
